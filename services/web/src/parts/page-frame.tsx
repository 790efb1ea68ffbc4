import { routes, type User } from '@gatehouse/client'
import { useEffect, useRef, type ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { client } from '../client.ts'
import { useInstanceInfo } from '../hooks/use-instance-info.ts'
import { usePageTitle } from '../hooks/use-page-title.ts'
import { Button } from './button.tsx'
import { LiveSign } from './live-sign.tsx'
import { ThemeToggle } from './theme-toggle.tsx'
import { Wordmark } from './wordmark.tsx'

type Props = { user: User | null; title: string; children: ReactNode }

/** The frame of the signed-in pages: bar, main, foot. A new page takes the focus, so that a screen reader hears it. */
export function PageFrame({ user, title, children }: Props) {
  const [pathname] = useLocation()
  const main = useRef<HTMLElement>(null)
  const { info } = useInstanceInfo()
  usePageTitle(title)
  useEffect(() => {
    if (document.activeElement === document.body) main.current?.focus()
  }, [pathname])

  return (
    <div className="frame">
      <header className="bar">
        <a className="skip-link" href="#main">
          Skip to the content
        </a>
        <div className="bar__inner">
          <Link href={routes.home} className="bar__home">
            <Wordmark />
          </Link>
          <nav className="bar__links" aria-label="Pages">
            <NavLink href={routes.home} here={pathname.startsWith('/channels')} name="Home" />
            {user?.isAdmin && <NavLink href="/admin" here={pathname.startsWith('/admin')} name="Administration" />}
          </nav>
          <div className="bar__end">
            <ThemeToggle />
            <Button size="small" icon="out" className="bar__out" onClick={() => client.logOut()}>
              <span>Log out</span>
            </Button>
          </div>
        </div>
      </header>
      <main ref={main} id="main" className="frame__main" tabIndex={-1}>
        {children}
      </main>
      <footer className="foot">
        <span>{info ? `${info.name} · Gatehouse ${info.version}` : 'Gatehouse'}</span>
        {user && <LiveSign />}
      </footer>
    </div>
  )
}

function NavLink({ href, here, name }: { href: string; here: boolean; name: string }) {
  return (
    <Link href={href} className="nav-link" aria-current={here ? 'page' : undefined}>
      {name}
    </Link>
  )
}
