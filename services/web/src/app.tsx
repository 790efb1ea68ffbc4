import { guardRoute, routes, type IdentityDeletions } from '@gatehouse/client'
import { lazy, Suspense, useEffect, useState } from 'react'
import { Redirect, Route, Switch, useLocation, useSearch } from 'wouter'
import { PageFrame } from './components/page-frame.tsx'
import { PageSkeleton } from './components/skeleton.tsx'
import { Toaster } from './components/toaster.tsx'
import { DeletionReportContext, useClient, useStore } from './context.ts'
import { LoginPage } from './pages/auth/login-page.tsx'
import { RegisterPage } from './pages/auth/register-page.tsx'
import { HomePage } from './pages/home/home-page.tsx'
import { NotFoundPage } from './pages/not-found-page.tsx'

// Loaded on first use: most users are not admins.
const AdminPage = lazy(() => import('./pages/admin/admin-page.tsx').then((page) => ({ default: page.AdminPage })))

const knownPaths = /^\/(?:login|register|channels\/@me|admin(?:\/[a-z]+)?)?\/?$/

export function App() {
  const deletionReport = useState<IdentityDeletions | null>(null)
  return (
    <DeletionReportContext value={deletionReport}>
      <Toaster>
        <GuardedRoutes />
      </Toaster>
    </DeletionReportContext>
  )
}

/** Applies the route guard, and loads the user of a stored token. Spec: Client session behaviour, route guard. */
function GuardedRoutes() {
  const client = useClient()
  const { token, user } = useStore(client.session)
  const [pathname] = useLocation()
  const search = useSearch()
  useEffect(() => {
    if (token && !user) void client.session.loadUser()
  }, [token, user])

  // Pages that do not exist need no login.
  const isPublic = !knownPaths.test(pathname)
  const verdict = guardRoute({ pathname, search: search && `?${search}`, token, isPublic })
  if (!verdict.allowed) return <Redirect to={verdict.redirect} replace />
  if (isPublic) return <NotFoundPage />
  if (token && !user)
    return (
      <PageFrame user={null} title="Loading">
        <PageSkeleton />
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
                  <PageSkeleton />
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
