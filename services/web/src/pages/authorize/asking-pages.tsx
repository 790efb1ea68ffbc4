import type { User } from '@gatehouse/client'
import { type ReactNode, Suspense, useEffect, useState } from 'react'
import { Redirect, useLocation } from 'wouter'
import { Button } from '../../components/button.tsx'
import { lazyPage } from '../../components/lazy-part.tsx'
import { Notice, Skeleton } from '../../components/status.tsx'
import { useClient, useStore } from '../../hooks.ts'
import { t } from '../../language/language.ts'
import '../../styles/authorize.css'
import { AuthFrame } from '../auth/auth-frame.tsx'
import { loadHomePage } from '../auth/login-page.tsx'
import { AuthorizePage } from './authorize-page.tsx'
import { DevicePage } from './device-page.tsx'
import { LogoutPage } from './logout-page.tsx'
import { loginThatReturns, readAsked } from './request.ts'
import { RefusedPage } from './refused-page.tsx'

const NewPasswordPage = lazyPage(() => loadHomePage().then((page) => page.NewPasswordPage))

/** What applications and devices ask the person in this browser. Contract: 3, Applications. */
export function AskingPages() {
  const [pathname] = useLocation()
  const request = readAsked(useFragment())
  if (pathname.startsWith('/device')) return <WithAccount>{(user) => <DevicePage user={user} />}</WithAccount>
  if (request?.kind === 'logout') return <LogoutPage />
  if (request?.kind !== 'interaction') return <RefusedPage code={request?.code ?? null} />
  const { uid } = request
  return <WithAccount>{(user) => <AuthorizePage key={`${uid} ${user.id}`} uid={uid} user={user} />}</WithAccount>
}

/** Another request in the same tab can differ in nothing else. */
function useFragment(): string {
  const [fragment, setFragment] = useState(location.hash)
  useEffect(() => {
    const read = () => setFragment(location.hash)
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return fragment
}

/** Who is not logged in does that first, and comes back. */
function WithAccount({ children: show }: { children: (user: User) => ReactNode }) {
  const { session } = useClient()
  const { token, user, reconnecting } = useStore(session)
  if (!token) return <Redirect to={loginThatReturns(location)} replace />
  if (user?.passwordChangeRequired) {
    return (
      <Suspense fallback={null}>
        <NewPasswordPage user={user} />
      </Suspense>
    )
  }
  if (user) return show(user)
  return (
    <AuthFrame title={t('Loading…')}>
      {reconnecting && (
        <Notice tone="warning" text="This instance isn’t responding. Reconnecting…">
          <Button size="small" icon="refresh" text="Try again" onClick={() => void session.loadUser()} />
        </Notice>
      )}
      <Skeleton rows={2} />
    </AuthFrame>
  )
}
