import type { User } from '@gatehouse/client'
import { useEffect, useRef } from 'react'
import { NavLink, PageFrame } from '../../components/page-frame.tsx'
import { NotFoundPage } from '../not-found-page.tsx'
import { AuditSection } from './audit-section.tsx'
import { FederationSection } from './federation-section.tsx'
import { InvitesSection } from './invites-section.tsx'
import { SettingsSection } from './settings-section.tsx'
import { UsersSection } from './users-section.tsx'
import '../../styles/admin.css'
import { type Text, t } from '../../language/language.ts'

const sections = [
  ['users', 'Users'],
  ['invites', 'Invites'],
  ['settings', 'Settings'],
  ['federation', 'Federation'],
  ['audit', 'Audit log'],
] as const satisfies ReadonlyArray<readonly [string, Text]>

export function AdminPage({ user, section = 'users' }: { user: User; section: string | undefined }) {
  const tabs = useRef<HTMLElement>(null)
  useEffect(() => {
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [section])
  const name = sections.find(([key]) => key === section)?.[1]
  if (!name) return <NotFoundPage />
  return (
    <PageFrame user={user} title={t(name)}>
      <h1>{t('Administration')}</h1>
      <nav ref={tabs} className="tabs" aria-label={t('Administration')}>
        {sections.map(([key, label]) => (
          <NavLink key={key} href={`/admin/${key}`} current={key === section} label={t(label)} />
        ))}
      </nav>
      {section === 'users' && <UsersSection self={user} />}
      {section === 'invites' && <InvitesSection />}
      {section === 'settings' && <SettingsSection />}
      {section === 'federation' && <FederationSection />}
      {section === 'audit' && <AuditSection />}
    </PageFrame>
  )
}
