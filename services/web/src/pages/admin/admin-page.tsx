import type { User } from '@gatehouse/client'
import { useEffect, useRef, useState } from 'react'
import { NavLink, PageFrame } from '../../components/page-frame.tsx'
import { NotFoundPage } from '../not-found-page.tsx'
import { SecondFactorDemand, useSecondFactorDemand } from '../home/second-factor-demand.tsx'
import { AuditSection } from './audit-section.tsx'
import { FederationSection } from './federation-section.tsx'
import { InvitesSection } from './invites-section.tsx'
import { SettingsSection } from './settings-section.tsx'
import { UserDetails } from './user-details.tsx'
import { firstPage, UsersSection } from './users-section.tsx'
import '../../styles/admin.css'
import { type Text, t } from '../../language/language.ts'

const sections = [
  ['users', 'Users'],
  ['invites', 'Invites'],
  ['settings', 'Settings'],
  ['federation', 'Federation'],
  ['audit', 'Audit log'],
] as const satisfies ReadonlyArray<readonly [string, Text]>

type Props = { user: User; section: string | undefined; userId: string | undefined }

export function AdminPage({ user, section = 'users', userId }: Props) {
  const tabs = useRef<HTMLElement>(null)
  // The page of a user leads back to the same list.
  const [shown, setShown] = useState(firstPage)
  useEffect(() => {
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [section])
  const isDemanded = useSecondFactorDemand(user)
  const name = sections.find(([key]) => key === section)?.[1]
  if (!name) return <NotFoundPage />
  return (
    <PageFrame user={user} title={userId ? t('User') : t(name)}>
      <h1>{t('Administration')}</h1>
      <SecondFactorDemand user={user} isDemanded={isDemanded} />
      {!isDemanded && (
        <>
          <nav ref={tabs} className="tabs" aria-label={t('Administration')}>
            {sections.map(([key, label]) => (
              <NavLink key={key} href={`/admin/${key}`} current={key === section} label={t(label)} />
            ))}
          </nav>
          {section === 'users' && userId && <UserDetails id={userId} self={user} />}
          {section === 'users' && !userId && <UsersSection self={user} shown={shown} onShow={setShown} />}
          {section === 'invites' && <InvitesSection />}
          {section === 'settings' && <SettingsSection />}
          {section === 'federation' && <FederationSection />}
          {section === 'audit' && <AuditSection />}
        </>
      )}
    </PageFrame>
  )
}
