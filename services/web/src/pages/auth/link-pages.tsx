import { useLocation } from 'wouter'
import { ConfirmEmailPage } from './confirm-email-page.tsx'
import { ForgotPage } from './forgot-page.tsx'
import { RecoverPage } from './recover-page.tsx'

/** The pages of links in mails, and the one that asks for such a link. */
export function LinkPages() {
  const [pathname] = useLocation()
  if (pathname.startsWith('/forgot')) return <ForgotPage />
  return pathname.startsWith('/recover') ? <RecoverPage /> : <ConfirmEmailPage />
}
