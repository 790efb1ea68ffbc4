import type { User } from '@gatehouse/client'
import { UserName } from '../../components/avatar.tsx'
import { Button } from '../../components/button.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { useClient, useInstanceInfo, useStore } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import '../../styles/home.css'
import { AuthFrame } from '../auth/auth-frame.tsx'
import { Friends } from './friends.tsx'
import { InstancesSummary } from './instances-summary.tsx'
import { NextSteps } from './next-steps.tsx'
import { PasswordForm } from './password-form.tsx'
import { ProfileCard } from './profile-card.tsx'
import { useRegistry } from './registry.ts'
import { SecondFactorDemand, useSecondFactorDemand } from './second-factor-demand.tsx'

export function HomePage({ user }: { user: User }) {
  const isDemanded = useSecondFactorDemand(user)
  const { info } = useInstanceInfo()
  const remotes = useStore(useClient().connections)
  const { elsewhere, isKnown } = useRegistry(user, remotes)
  const count = remotes.length + elsewhere.length
  return (
    <PageFrame user={user} title={t('Home')}>
      <div className="home">
        <ProfileCard user={user} />
        <div className="home__main stack">
          <header>
            <h1>
              <UserName>{info?.name ?? t('Home')}</UserName>
            </h1>
            <p className="muted">
              {user.homeInstance
                ? t('Your name and your password are managed on {host}. Chat in the apps of this instance.', {
                    host: user.homeInstance,
                  })
                : t(
                    'This is where your account lives: your name, your password, and who may use them. Chat in the apps of this instance.',
                  )}
            </p>
          </header>
          <SecondFactorDemand user={user} isDemanded={isDemanded} />
          <NextSteps user={user} isConnected={count > 0 || (isKnown ? false : null)} />
          <InstancesSummary user={user} remotes={remotes} elsewhere={elsewhere} />
        </div>
        <Friends user={user} />
      </div>
    </PageFrame>
  )
}

/** Replaces every page after an admin's reset. Contract: 2. */
export function NewPasswordPage({ user }: { user: User }) {
  const client = useClient()
  return (
    <AuthFrame
      title={t('Choose a new password')}
      subtitle={t(
        'An admin has given you a temporary password. Choose one of your own to go on: the temporary one is the current password.',
      )}
    >
      <PasswordForm user={user} />
      <p className="auth__alternative">
        <Button variant="plain" onClick={() => client.logOut()}>
          {t('Log out')}
        </Button>
      </p>
    </AuthFrame>
  )
}
