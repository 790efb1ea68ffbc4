import type { IdentityDeletions, User } from '@gatehouse/client'
import { guardRoute, routes } from '@gatehouse/client/routes'
import { Suspense, useEffect, useState, type ContextType } from 'react'
import { Redirect, Route, Switch, useLocation, useSearch } from 'wouter'
import { Button } from './components/button.tsx'
import { lazyPage } from './components/lazy-part.tsx'
import { PageFrame } from './components/page-frame.tsx'
import { Notice, Skeleton, Toaster } from './components/status.tsx'
import { BlockedCodesContext, DeletionReportContext, useClient, useStore } from './hooks.ts'
import { t } from './language/language.ts'
import { AuthFrame } from './pages/auth/auth-frame.tsx'
import { loadHomePage, LoginPage } from './pages/auth/login-page.tsx'
import { NotFoundPage } from './pages/not-found-page.tsx'
import { forgetReceiptOf } from './registration-receipt.ts'

const loadSettingsPage = () => import('./pages/home/settings-page.tsx')

// A first visit needs the login page alone.
const RegisterPage = lazyPage(() => import('./pages/auth/register-page.tsx').then((page) => page.RegisterPage))
const HomePage = lazyPage(() => loadHomePage().then((page) => page.HomePage))
const NewPasswordPage = lazyPage(() => loadHomePage().then((page) => page.NewPasswordPage))
const SignInPage = lazyPage(() => import('./pages/auth/sign-in-page.tsx').then((page) => page.SignInPage))
const LinkPages = lazyPage(() => import('./pages/auth/link-pages.tsx').then((page) => page.LinkPages))
const AskingPages = lazyPage(() => import('./pages/authorize/asking-pages.tsx').then((page) => page.AskingPages))
const SettingsPage = lazyPage(() => loadSettingsPage().then((page) => page.SettingsPage))
const AdminPage = lazyPage(() => import('./pages/admin/admin-page.tsx').then((page) => page.AdminPage))

const knownPaths =
  /^\/(?:login|register|channels\/@me|settings(?:\/[a-z]+)?|admin(?:\/[a-z]+|\/users\/\d+|\/federation\/orders)?)?\/?$/

/** Links, what an application asks, and the way back from a provider, count with any session or none. */
const isOpen = /^\/(recover|sign-in|forgot|confirm-email|authorize|device)\/?$/

export function App() {
  const deletionReport = useState<IdentityDeletions | null>(null)
  const blockedCodes = useState<ContextType<typeof BlockedCodesContext>[0]>(null)
  return (
    <DeletionReportContext value={deletionReport}>
      <BlockedCodesContext value={blockedCodes}>
        <Toaster>
          <GuardedRoutes />
        </Toaster>
      </BlockedCodesContext>
    </DeletionReportContext>
  )
}

/** The page waits while `loadUser` asks for the user of a token. Spec: Client session behaviour, route guard. */
function GuardedRoutes() {
  const client = useClient()
  const { token, user, reconnecting } = useStore(client.session)
  const [pathname] = useLocation()
  const search = useSearch()
  useEffect(() => {
    if (token && !user) void client.session.loadUser()
  }, [token, user])

  // Here, because each login comes by: one by a provider too, and one that is faster than the login page's notice.
  useEffect(() => {
    if (user) forgetReceiptOf(user.username)
  }, [user?.username])

  const authLoading = <AuthFrame title={t('Loading…')}>{null}</AuthFrame>
  if (isOpen.test(pathname)) {
    const Page = pathname.startsWith('/s') ? SignInPage : /^\/[ad]/.test(pathname) ? AskingPages : LinkPages
    return (
      <Suspense fallback={authLoading}>
        <Page />
      </Suspense>
    )
  }
  // Pages that do not exist need no login.
  const isPublic = !knownPaths.test(pathname)
  const verdict = guardRoute({ pathname, search: search && `?${search}`, token, isPublic })
  if (!verdict.allowed) return <Redirect to={verdict.redirect} replace />
  if (isPublic) return <NotFoundPage />
  if (token && !user) return <LoadingPage user={null} reconnecting={reconnecting} />
  return (
    <Suspense fallback={token ? <LoadingPage user={user} /> : authLoading}>
      {user?.passwordChangeRequired ? <NewPasswordPage user={user} /> : <Pages user={user} />}
    </Suspense>
  )
}

/** `reconnecting`: the client tries again by itself. */
function LoadingPage({ user, reconnecting = false }: { user: User | null; reconnecting?: boolean }) {
  const { session } = useClient()
  return (
    <PageFrame user={user} title={t('Loading…')}>
      <div role="status">
        {reconnecting && (
          <Notice tone="warning" text="This instance isn’t responding. Reconnecting…">
            <Button size="small" icon="refresh" text="Try again" onClick={() => void session.loadUser()} />
          </Notice>
        )}
      </div>
      <Skeleton rows={2} of="card" />
    </PageFrame>
  )
}

function Pages({ user }: { user: User | null }) {
  // It is one click away, also while the network is gone.
  useEffect(() => {
    if (user) void loadSettingsPage().catch(() => undefined)
  }, [user?.id])
  return (
    <Switch>
      <Route path="/">
        <Redirect to={routes.home} replace />
      </Route>
      <Route path={routes.login} component={LoginPage} />
      <Route path={routes.register} component={RegisterPage} />
      <Route path={routes.home}>{user && <HomePage user={user} />}</Route>
      <Route path="/settings/:part?">{({ part }) => user && <SettingsPage user={user} part={part} />}</Route>
      <Route path="/admin/:section?/:id?">
        {({ section, id }) => (user?.isAdmin ? <AdminPage user={user} section={section} id={id} /> : <NotFoundPage />)}
      </Route>
    </Switch>
  )
}
