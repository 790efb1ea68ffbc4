import { routes, type User } from '@gatehouse/client'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { useClient, useStore } from '../context.ts'
import { useInstanceInfo } from '../hooks/use-instance-info.ts'
import { Button } from './button.tsx'
import { ThemeToggle } from './theme-toggle.tsx'
import { Wordmark } from './wordmark.tsx'

type Props = { user: User | null; title: string; children: ReactNode }

/** Header, main and footer of the pages behind the login. A new page takes the focus: screen readers announce it. */
export function PageFrame({ user, title, children }: Props) {
  const client = useClient()
  const [pathname] = useLocation()
  const main = useRef<HTMLElement>(null)
  const { info } = useInstanceInfo()
  useEffect(() => {
    document.title = `${title} · Gatehouse`
  }, [title])
  useEffect(() => {
    if (document.activeElement === document.body) main.current?.focus()
  }, [pathname])

  return (
    <div className="page">
      <header className="header">
        <a className="skip-link" href="#main">
          Skip to content
        </a>
        <div className="header__inner">
          <Link href={routes.home} className="header__home">
            <Wordmark />
          </Link>
          <nav className="header__nav" aria-label="Pages">
            <NavLink href={routes.home} current={pathname.startsWith('/channels')} name="Home" />
            {user?.isAdmin && <NavLink href="/admin" current={pathname.startsWith('/admin')} name="Administration" />}
          </nav>
          <div className="header__actions">
            <ThemeToggle />
            <Button size="small" icon="logOut" className="header__log-out" onClick={() => client.logOut()}>
              <span>Log out</span>
            </Button>
          </div>
        </div>
      </header>
      <main ref={main} id="main" className="page__main" tabIndex={-1}>
        {children}
      </main>
      <footer className="footer">
        <span>{info ? `${info.name} · Gatehouse ${info.version}` : 'Gatehouse'}</span>
        {user && <ConnectionStatus />}
      </footer>
    </div>
  )
}

function NavLink({ href, current, name }: { href: string; current: boolean; name: string }) {
  return (
    <Link href={href} className="nav-link" aria-current={current ? 'page' : undefined}>
      {name}
    </Link>
  )
}

const connectionStates = {
  off: 'Offline',
  connecting: 'Connecting…',
  ready: 'Connected',
  waiting: 'Connection lost, reconnecting…',
}

function ConnectionStatus() {
  const client = useClient()
  const { phase } = useStore(client.live)
  return <span role="status">{connectionStates[phase]}</span>
}
