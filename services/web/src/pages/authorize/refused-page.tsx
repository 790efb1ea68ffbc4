import { routes } from '@gatehouse/client/routes'
import { Link } from 'wouter'
import { Notice } from '../../components/status.tsx'
import { useClient, useStore } from '../../hooks.ts'
import { t, type Text } from '../../language/language.ts'
import { AuthFrame } from '../auth/auth-frame.tsx'

/** By the code of OAuth, or what this app found. */
const reasons: Readonly<Record<string, Text>> = {
  over: 'This request has expired, or it was started in another browser. Go back to the application and start over.',
  off: 'This instance doesn’t log people in to applications right now.',
  invalid_client: 'This instance doesn’t know the application, or an admin has suspended it.',
  unauthorized_client: 'This instance doesn’t know the application, or an admin has suspended it.',
  invalid_redirect_uri: 'The application asks to return to an address that isn’t registered here.',
  server_error: 'Something went wrong. Please try again.',
}

/** What leads to no application. `code` null: nothing was asked. */
export function RefusedPage({ code }: { code: string | null }) {
  const { token } = useStore(useClient().session)
  const reason = reasons[Object.hasOwn(reasons, code ?? '') ? (code ?? '') : ''] ?? null
  const text =
    reason ?? (code === null ? reasons['over'] : 'The application sent a request that this instance can’t answer.')
  const isOfApplication = code !== null && !['over', 'off'].includes(code)
  return (
    <AuthFrame title={t('Can’t log in to the application')}>
      <div className="stack">
        <Notice tone="error" text={text} />
        {isOfApplication && (
          <p className="small muted">{t('For the people who run the application: {code}', { code })}</p>
        )}
      </div>
      <p className="auth__alternative">
        <Link href={token ? routes.home : routes.login}>{token ? t('Go to the home page') : t('Log in')}</Link>
      </p>
    </AuthFrame>
  )
}
