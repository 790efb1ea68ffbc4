import { type LiveState, routes, type User } from '@gatehouse/client'
import { type ReactNode, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { useClient, useStore } from '../context.ts'
import { useInstanceInfo } from '../hooks/use-instance-info.ts'
import { useNewPage } from '../hooks/use-new-page.ts'
import { Button } from './button.tsx'
import { LanguageSelect } from './language-select.tsx'
import { ThemeToggle } from './theme-toggle.tsx'
import { Wordmark } from './wordmark.tsx'
import { type Text, t } from '../language/language.ts'

type Props = { user: User | null; title: string; children: ReactNode }

/** Header, main and footer of the pages behind the login. A new page takes the focus: screen readers announce it. */
export function PageFrame({ user, title, children }: Props) {
  const client = useClient()
  const [pathname] = useLocation()
  const main = useRef<HTMLElement>(null)
  const { info } = useInstanceInfo()
  useNewPage(main, title)

  return (
    <div className="page">
      <header className="header">
        <a className="skip-link" href="#main">
          {t('Skip to content')}
        </a>
        <div className="header__inner">
          <Link href={routes.home} className="header__home">
            <Wordmark />
          </Link>
          <nav className="header__nav" aria-label={t('Pages')}>
            <NavLink href={routes.home} current={pathname.startsWith('/channels')} label={t('Home')} />
            {user?.isAdmin && (
              <NavLink href="/admin" current={pathname.startsWith('/admin')} label={t('Administration')} />
            )}
          </nav>
          <div className="header__actions">
            <ThemeToggle />
            <Button size="small" icon="logOut" className="header__log-out" onClick={() => client.logOut()}>
              <span>{t('Log out')}</span>
            </Button>
          </div>
        </div>
      </header>
      <main ref={main} id="main" className="page__main" tabIndex={-1}>
        {children}
      </main>
      <footer className="footer">
        <LanguageSelect />
        <span>
          {info ? t('{name} · Gatehouse {version}', { name: info.name, version: info.version }) : t('Gatehouse')}
        </span>
        {user && <ConnectionStatus />}
      </footer>
    </div>
  )
}

function NavLink({ href, current, label }: { href: string; current: boolean; label: string }) {
  return (
    <Link href={href} className="nav-link" aria-current={current ? 'page' : undefined}>
      {label}
    </Link>
  )
}

const connectionStates: Record<LiveState['phase'], Text> = {
  off: 'Offline',
  connecting: 'Connecting…',
  ready: 'Connected',
  waiting: 'Connection lost, reconnecting…',
}

function ConnectionStatus() {
  const client = useClient()
  const { phase } = useStore(client.live)
  return <span role="status">{t(connectionStates[phase])}</span>
}
