import { routes } from '@gatehouse/client/routes'
import { Link } from 'wouter'
import { Notice } from '../../components/status.tsx'
import { t } from '../../language/language.ts'
import { AuthFrame } from '../auth/auth-frame.tsx'

/** Where an application leads that ended its access, and names no page of its own. OpenID Connect RP-Initiated Logout 1.0. */
export function LogoutPage() {
  return (
    <AuthFrame title={t('Logged out of the application')}>
      <Notice tone="good" text="You can close this page. You may still be logged in to this instance." />
      <p className="auth__alternative">
        <Link href={routes.home}>{t('Go to the home page')}</Link>
      </p>
    </AuthFrame>
  )
}
