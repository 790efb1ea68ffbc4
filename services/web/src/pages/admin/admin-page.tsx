import type { User } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { type ReactNode, Suspense } from 'react'
import { Link } from 'wouter'
import { lazyPart } from '../../components/lazy-part.tsx'
import { NavLink, PageFrame } from '../../components/page-frame.tsx'
import { Badge, Skeleton } from '../../components/status.tsx'
import { useQuery } from '../../hooks.ts'
import { NotFoundPage } from '../not-found-page.tsx'
import { SecondFactorDemand, useSecondFactorDemand } from '../home/second-factor-section.tsx'
import { AuditSection } from './audit-section.tsx'
import { FederationSection, OpenOrders } from './federation-section.tsx'
import { upTo } from './format-count.ts'
import { InvitesSection } from './invites-section.tsx'
import { OverviewSection } from './overview-section.tsx'
import { SettingsSection } from './settings-section.tsx'
import { UserDetails } from './user-details.tsx'
import { UsersSection } from './users-section.tsx'
import '../../styles/admin.css'
import { type Text, t } from '../../language/language.ts'

const Registrations = lazyPart(() => import('./registrations-section.tsx').then((part) => part.RegistrationsSection))
const Applications = lazyPart(() => import('./applications-section.tsx').then((part) => part.ApplicationsSection))

const sections: ReadonlyArray<readonly [key: string, name: Text, show: (self: User, id?: string) => ReactNode]> = [
  ['overview', 'Overview', () => <OverviewSection />],
  ['users', 'Users', (self, id) => (id ? <UserDetails id={id} self={self} /> : <UsersSection self={self} />)],
  [
    'registrations',
    'Registrations',
    () => (
      <Suspense fallback={<Skeleton rows={6} />}>
        <Registrations />
      </Suspense>
    ),
  ],
  ['invites', 'Invites', () => <InvitesSection />],
  [
    'applications',
    'Applications',
    () => (
      <Suspense fallback={<Skeleton rows={6} />}>
        <Applications />
      </Suspense>
    ),
  ],
  ['settings', 'Instance', () => <SettingsSection />],
  ['federation', 'Federation', (_, id) => (id ? <OpenOrders /> : <FederationSection />)],
  ['audit', 'Audit log', () => <AuditSection />],
]

const pagesBelow = new Set(['users', 'federation'])

type Props = { user: User; section: string | undefined; id: string | undefined }

export function AdminPage({ user, section = 'overview', id }: Props) {
  const isDemanded = useSecondFactorDemand(user)
  const [, name, show] = sections.find(([key]) => key === section) ?? []
  if (!name || !show || (id && !pagesBelow.has(section))) return <NotFoundPage />
  return (
    <PageFrame user={user} title={id && section === 'users' ? t('User') : t(name)}>
      <h1>{t('Admin')}</h1>
      <SecondFactorDemand user={user} isDemanded={isDemanded} />
      {!isDemanded && (
        <>
          <nav className="tabs" aria-label={t('Admin')}>
            {sections.map(([key, label]) =>
              key === 'registrations' ? (
                <RegistrationsLink key={key} current={key === section} />
              ) : (
                <NavLink key={key} href={`/admin/${key}`} current={key === section} text={label} />
              ),
            )}
          </nav>
          {show(user, id)}
        </>
      )}
    </PageFrame>
  )
}

/** With how many wait. Contract: 3, Approval. */
function RegistrationsLink({ current }: { current: boolean }) {
  const waiting = useQuery(
    'waiting registrations',
    (signal, client) => client.call('listRegistrations', { query: { limit: 1 }, signal }),
    'registrations',
  )
  const total = waiting.data?.total ?? 0
  return (
    <Link href="/admin/registrations" className="nav-link" aria-current={current ? 'page' : undefined}>
      {t('Registrations')}
      {total > 0 && (
        <Badge tone="warning">
          {upTo(limits.waitingCountMax)(total)}
          <span className="visually-hidden"> {t('waiting')}</span>
        </Badge>
      )}
    </Link>
  )
}
