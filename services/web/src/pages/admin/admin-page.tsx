import type { User } from '@gatehouse/client'
import { useEffect, useRef } from 'react'
import { Link } from 'wouter'
import '../../styles/admin.css'
import { PageFrame } from '../../parts/page-frame.tsx'
import { NotFoundPage } from '../not-found-page.tsx'
import { AuditSection } from './audit-section.tsx'
import { GatesSection } from './gates-section.tsx'
import { InvitesSection } from './invites-section.tsx'
import { PeersSection } from './peers-section.tsx'
import { UsersSection } from './users-section.tsx'

const sections = [
  ['users', 'Users'],
  ['invites', 'Invites'],
  ['gates', 'Gates'],
  ['peers', 'Peers'],
  ['audit', 'Audit log'],
] as const

/** The administration; its sections are addresses, so that each can be linked to and gone back to. */
export function AdminPage({ user, section = 'users' }: { user: User; section: string | undefined }) {
  const tabs = useRef<HTMLElement>(null)
  useEffect(() => {
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [section])
  const name = sections.find(([key]) => key === section)?.[1]
  if (!name) return <NotFoundPage />
  return (
    <PageFrame user={user} title={name}>
      <h1>Administration</h1>
      <nav ref={tabs} className="tabs" aria-label="Administration">
        {sections.map(([key, label]) => (
          <Link
            key={key}
            href={`/admin/${key}`}
            className="nav-link"
            aria-current={key === section ? 'page' : undefined}
          >
            {label}
          </Link>
        ))}
      </nav>
      {section === 'users' && <UsersSection self={user} />}
      {section === 'invites' && <InvitesSection />}
      {section === 'gates' && <GatesSection />}
      {section === 'peers' && <PeersSection />}
      {section === 'audit' && <AuditSection />}
    </PageFrame>
  )
}
