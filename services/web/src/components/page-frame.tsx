import type { LiveState, User } from '@gatehouse/client'
import { routes } from '@gatehouse/client/routes'
import { type ReactNode, type RefObject, useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { useClient, useInstanceInfo, useStore } from '../hooks.ts'
import { type Text, t } from '../language/language.ts'
import { AccountMenu } from './account-menu.tsx'
import { LanguageSelect, ThemeToggle } from './preferences.tsx'
import { SecurityNotices } from './security-notices.tsx'
import { Wordmark } from './wordmark.tsx'

/** Whether there was input since the load. `navigator.userActivation` outlives a load. */
let isUsed = false
for (const type of ['keydown', 'pointerdown']) {
  addEventListener(type, () => void (isUsed = true), { capture: true, once: true })
}

/** `--accent` is in styles/tokens.css. */
function useAccent(color: string | null | undefined): void {
  useEffect(() => {
    const { style } = document.documentElement
    if (color) style.setProperty('--accent', color)
    else style.removeProperty('--accent')
  }, [color])
}

/**
 * `target` takes the focus of the page before, so that screen readers announce the new page. Before any input nothing
 * takes it: the first Tab goes to the first link.
 */
export function useNewPage(target: RefObject<HTMLElement | null>, title: string): void {
  const { info } = useInstanceInfo()
  const name = info?.name ?? 'Gatehouse'
  useAccent(info?.accentColor)
  useEffect(() => void (document.title = `${title} · ${name}`), [title, name])
  useEffect(() => {
    window.scrollTo(0, 0)
    if (isUsed && document.activeElement === document.body) target.current?.focus({ preventScroll: true })
  }, [target, title])
}

type Props = { user: User | null; title: string; children: ReactNode }

/** The frame of the pages behind the login. */
export function PageFrame({ user, title, children }: Props) {
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
            <NavLink href="/settings" current={pathname.startsWith('/settings')} label={t('Settings')} />
            {user?.isAdmin && (
              <NavLink href="/admin" current={pathname.startsWith('/admin')} label={t('Administration')} />
            )}
          </nav>
          <div className="header__actions">
            <ThemeToggle />
            {user && <AccountMenu user={user} />}
          </div>
        </div>
      </header>
      <main ref={main} id="main" className="page__main" tabIndex={-1}>
        {user && <SecurityNotices userId={user.id} />}
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

type NavLinkProps = { href: string; current: boolean; label: string }

export function NavLink({ href, current, label }: NavLinkProps) {
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
