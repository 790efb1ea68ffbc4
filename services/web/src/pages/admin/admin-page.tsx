import type { User } from '@gatehouse/client'
import { useEffect, useRef } from 'react'
import { NavLink, PageFrame } from '../../components/page-frame.tsx'
import { NotFoundPage } from '../not-found-page.tsx'
import { SecondFactorDemand, useSecondFactorDemand } from '../home/second-factor-section.tsx'
import { AuditSection } from './audit-section.tsx'
import { FederationSection, OpenOrders } from './federation-section.tsx'
import { InvitesSection } from './invites-section.tsx'
import { OverviewSection } from './overview-section.tsx'
import { SettingsSection } from './settings-section.tsx'
import { UserDetails } from './user-details.tsx'
import { UsersSection } from './users-section.tsx'
import '../../styles/admin.css'
import { type Text, t } from '../../language/language.ts'

const sections = [
  ['overview', 'Overview'],
  ['users', 'Users'],
  ['invites', 'Invites'],
  ['settings', 'Instance'],
  ['federation', 'Federation'],
  ['audit', 'Audit log'],
] as const satisfies ReadonlyArray<readonly [string, Text]>

const pagesBelow = new Set(['users', 'federation'])

type Props = { user: User; section: string | undefined; id: string | undefined }

export function AdminPage({ user, section = 'overview', id }: Props) {
  const tabs = useRef<HTMLElement>(null)
  useEffect(() => {
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [section])
  const isDemanded = useSecondFactorDemand(user)
  const name = sections.find(([key]) => key === section)?.[1]
  if (!name || (id && !pagesBelow.has(section))) return <NotFoundPage />
  return (
    <PageFrame user={user} title={id && section === 'users' ? t('User') : t(name)}>
      <h1>{t('Administration')}</h1>
      <SecondFactorDemand user={user} isDemanded={isDemanded} />
      {!isDemanded && (
        <>
          <nav ref={tabs} className="tabs" aria-label={t('Administration')}>
            {sections.map(([key, label]) => (
              <NavLink key={key} href={`/admin/${key}`} current={key === section} text={label} />
            ))}
          </nav>
          {section === 'overview' && <OverviewSection />}
          {section === 'users' && (id ? <UserDetails id={id} self={user} /> : <UsersSection self={user} />)}
          {section === 'invites' && <InvitesSection />}
          {section === 'settings' && <SettingsSection />}
          {section === 'federation' && (id ? <OpenOrders /> : <FederationSection />)}
          {section === 'audit' && <AuditSection />}
        </>
      )}
    </PageFrame>
  )
}
