import { guardRoute, routes } from '@gatehouse/client'
import { lazy, Suspense, useEffect } from 'react'
import { Redirect, Route, Switch, useLocation, useSearch } from 'wouter'
import { client } from './client.ts'
import { useStore } from './hooks/use-store.ts'
import { LoginPage } from './pages/auth/login-page.tsx'
import { RegisterPage } from './pages/auth/register-page.tsx'
import { HomePage } from './pages/home/home-page.tsx'
import { NotFoundPage } from './pages/not-found-page.tsx'
import { Announcer } from './parts/announcer.tsx'
import { PageFrame } from './parts/page-frame.tsx'
import { PageShimmer } from './parts/page-shimmer.tsx'

// Only admins pay for the administration's code.
const AdminPage = lazy(() => import('./pages/admin/admin-page.tsx').then((page) => ({ default: page.AdminPage })))

const known = /^\/(?:login|register|channels\/@me|admin(?:\/[a-z]+)?)?\/?$/

export function App() {
  return (
    <Announcer>
      <GuardedPages />
    </Announcer>
  )
}

/** The route guard of the client, and the user of a kept token. Spec: Client session behaviour, route guard. */
function GuardedPages() {
  const { token, user } = useStore(client.session)
  const [pathname] = useLocation()
  const search = useSearch()
  useEffect(() => {
    if (token && !user) void client.session.loadUser()
  }, [token, user])

  const isPublic = !known.test(pathname)
  const verdict = guardRoute({ pathname, search: search && `?${search}`, token, isPublic })
  if (!verdict.allowed) return <Redirect to={verdict.redirect} replace />
  if (isPublic) return <NotFoundPage />
  if (token && !user)
    return (
      <PageFrame user={null} title="Loading">
        <PageShimmer />
      </PageFrame>
    )
  return (
    <Switch>
      <Route path="/">
        <Redirect to={routes.home} replace />
      </Route>
      <Route path={routes.login} component={LoginPage} />
      <Route path={routes.register} component={RegisterPage} />
      <Route path={routes.home}>{user && <HomePage user={user} />}</Route>
      <Route path="/admin/:section?">
        {({ section }) =>
          user?.isAdmin ? (
            <Suspense
              fallback={
                <PageFrame user={user} title="Administration">
                  <PageShimmer />
                </PageFrame>
              }
            >
              <AdminPage user={user} section={section} />
            </Suspense>
          ) : (
            <NotFoundPage />
          )
        }
      </Route>
    </Switch>
  )
}
