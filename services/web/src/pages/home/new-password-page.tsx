import type { User } from '@gatehouse/client'
import { Button } from '../../components/button.tsx'
import { useClient } from '../../context.ts'
import { AuthFrame } from '../auth/auth-frame.tsx'
import { PasswordForm } from './password-form.tsx'
import { t } from '../../language/language.ts'

/** Shown in place of every other page after an admin's reset, until the user has chosen a password. Contract: 2. */
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
