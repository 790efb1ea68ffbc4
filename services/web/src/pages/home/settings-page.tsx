import type { User } from '@gatehouse/client'
import { type ComponentType, Suspense } from 'react'
import { QueryError } from '../../components/error-message.tsx'
import { lazyPart } from '../../components/lazy-part.tsx'
import { NavLink, PageFrame } from '../../components/page-frame.tsx'
import { Skeleton } from '../../components/status.tsx'
import { type Text, t } from '../../language/language.ts'
import '../../styles/home.css'
import { useOwnAccount } from '../../own-account.ts'
import { NotFoundPage } from '../not-found-page.tsx'
import { ConnectedInstances } from './connected-instances.tsx'
import { DataSection } from './data-section.tsx'
import { EmailSection } from './email-section.tsx'
import { OwnInvitesCard } from './invites-section.tsx'
import { LeaveSection } from './leave-section.tsx'
import { PasskeysSection } from './passkeys-section.tsx'
import { PasswordSection } from './password-section.tsx'
import { ProfileCard } from './profile-card.tsx'
import { ProvidersSection } from './providers-section.tsx'
import { SecondFactorSection } from './second-factor-section.tsx'
import { SessionsCard, SignInsCard } from './sessions-section.tsx'

const ApplicationsCard = lazyPart(() => import('./applications-section.tsx').then((part) => part.ApplicationsCard))

const parts: ReadonlyArray<readonly [path: string, name: Text, cards: readonly ComponentType<{ user: User }>[]]> = [
  ['profile', 'Profile', [ProfileCard]],
  ['security', 'Security', [PasswordSection, LocalProofs]],
  ['sessions', 'Sessions', [SessionsCard, SignInsCard]],
  ['instances', 'Connected instances', [ConnectedInstances]],
  ['applications', 'Connected applications', [Applications]],
  ['invites', 'Invites', [OwnInvitesCard]],
  ['data', 'Your data', [DataSection]],
  ['leave', 'Delete account', [LeaveSection]],
]

function Applications() {
  return (
    <Suspense fallback={<Skeleton rows={1} of="card" />}>
      <ApplicationsCard />
    </Suspense>
  )
}

/** A federated account has none here. */
function LocalProofs({ user }: { user: User }) {
  if (user.homeInstance !== null) return null
  return (
    <>
      <EmailSection user={user} />
      <SecondFactorSection user={user} />
      <PasskeysSection user={user} />
      <ProvidersSection user={user} />
    </>
  )
}

export function SettingsPage({ user, part = 'profile' }: { user: User; part: string | undefined }) {
  const { account, ...query } = useOwnAccount(user)
  const mayInvite = (account?.memberInvites ?? 0) > 0
  const isUnknown = part === 'invites' && !mayInvite && (query.loading || query.error !== null)
  const shown = parts.filter(([path]) => path !== 'invites' || mayInvite || isUnknown)
  const [, title, cards] = shown.find(([path]) => path === part) ?? []
  if (!title || !cards) return <NotFoundPage />
  return (
    <PageFrame user={user} title={t(title)}>
      <div className="settings">
        <div>
          <h1>{t('Settings')}</h1>
          <nav className="settings__parts" aria-label={t('Settings')}>
            {shown.map(([path, name]) => (
              <NavLink key={path} href={`/settings/${path}`} current={path === part} text={name} />
            ))}
          </nav>
        </div>
        <div className="stack stack--loose">
          {isUnknown && (query.error ? <QueryError query={query} /> : <Skeleton rows={1} of="card" />)}
          {!isUnknown && cards.map((Part, index) => <Part key={index} user={user} />)}
        </div>
      </div>
    </PageFrame>
  )
}
