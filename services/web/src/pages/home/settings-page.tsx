import type { User } from '@gatehouse/client'
import type { ReactNode } from 'react'
import { NavLink, PageFrame } from '../../components/page-frame.tsx'
import { type Text, t } from '../../language/language.ts'
import '../../styles/home.css'
import { NotFoundPage } from '../not-found-page.tsx'
import { ConnectedInstances } from './connected-instances.tsx'
import { DataSection } from './data-section.tsx'
import { LeaveSection } from './leave-section.tsx'
import { PasskeysSection } from './passkeys-section.tsx'
import { PasswordSection } from './password-section.tsx'
import { ProfileCard } from './profile-card.tsx'
import { SecondFactorSection } from './second-factor-section.tsx'
import { SessionsCard, SignInsCard } from './sessions-section.tsx'

const parts: readonly { path: string; name: Text; show: (user: User) => ReactNode }[] = [
  { path: 'profile', name: 'Profile', show: (user) => <ProfileCard user={user} /> },
  {
    path: 'security',
    name: 'Security',
    show: (user) => (
      <>
        <PasswordSection user={user} />
        {user.homeInstance === null && <SecondFactorSection user={user} />}
        {user.homeInstance === null && <PasskeysSection user={user} />}
      </>
    ),
  },
  {
    path: 'sessions',
    name: 'Sessions',
    show: (user) => (
      <>
        <SessionsCard user={user} />
        <SignInsCard />
      </>
    ),
  },
  { path: 'instances', name: 'Connected instances', show: (user) => <ConnectedInstances user={user} /> },
  { path: 'data', name: 'Your data', show: (user) => <DataSection user={user} /> },
  { path: 'leave', name: 'Leave', show: (user) => <LeaveSection user={user} /> },
]

export function SettingsPage({ user, part = 'profile' }: { user: User; part: string | undefined }) {
  const shown = parts.find(({ path }) => path === part)
  if (!shown) return <NotFoundPage />
  return (
    <PageFrame user={user} title={t(shown.name)}>
      <div className="settings">
        <div>
          <h1>{t('Settings')}</h1>
          <nav className="settings__parts" aria-label={t('Settings')}>
            {parts.map(({ path, name }) => (
              <NavLink key={path} href={`/settings/${path}`} current={path === part} text={name} />
            ))}
          </nav>
        </div>
        <div className="stack stack--loose">{shown.show(user)}</div>
      </div>
    </PageFrame>
  )
}
