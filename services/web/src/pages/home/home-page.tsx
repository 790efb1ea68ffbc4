import type { User } from '@gatehouse/client'
import { Button } from '../../components/button.tsx'
import { PageFrame } from '../../components/page-frame.tsx'
import { useClient } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import '../../styles/home.css'
import { AuthFrame } from '../auth/auth-frame.tsx'
import { ConnectedInstances } from './connected-instances.tsx'
import { DeletionSection } from './deletion-section.tsx'
import { Friends } from './friends.tsx'
import { PasskeysSection } from './passkeys-section.tsx'
import { PasswordForm } from './password-form.tsx'
import { PasswordSection } from './password-section.tsx'
import { ProfileCard } from './profile-card.tsx'
import { SecondFactorDemand, useSecondFactorDemand } from './second-factor-demand.tsx'
import { SecondFactorSection } from './second-factor-section.tsx'
import { SecuritySection } from './security-section.tsx'

export function HomePage({ user }: { user: User }) {
  const isDemanded = useSecondFactorDemand(user)
  return (
    <PageFrame user={user} title={t('Home')}>
      <h1 className="visually-hidden">{t('Home')}</h1>
      <div className="home">
        <ProfileCard user={user} />
        <div className="home__main stack">
          <SecondFactorDemand user={user} isDemanded={isDemanded} />
          <ConnectedInstances user={user} />
          <SecuritySection user={user}>
            <PasswordSection user={user} />
            {user.homeInstance === null && <SecondFactorSection user={user} />}
            {user.homeInstance === null && <PasskeysSection user={user} />}
          </SecuritySection>
          <DeletionSection user={user} />
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
