import { isSecurityNotice, type LiveState, type SecurityNotice, type User } from '@gatehouse/client'
import { routes } from '@gatehouse/client/routes'
import { type MouseEvent, type ReactNode, type RefObject, use, useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { BlockedCodesContext, useClient, useInstanceInfo, useStore, useToast } from '../hooks.ts'
import { t, type Text } from '../language/language.ts'
import { UserAvatar, UserNames } from './avatar.tsx'
import { formatDateTime } from './format.ts'
import { Menu, MenuItem } from './menu.tsx'
import { LanguageSelect, ThemeToggle } from './preferences.tsx'
import { Notice } from './status.tsx'
import { Wordmark } from './wordmark.tsx'

/** Whether there was input since the load. `navigator.userActivation` outlives a load. */
let isUsed = false
for (const type of ['keydown', 'pointerdown']) {
  addEventListener(type, () => void (isUsed = true), { capture: true, once: true })
}

/** `target` takes the focus, so that screen readers announce the new page, but not before any input. */
export function useNewPage(target: RefObject<HTMLElement | null>, title: string): void {
  const { info } = useInstanceInfo()
  const name = info?.name ?? 'Gatehouse'
  const color = info?.accentColor
  // In styles/tokens.css. An empty text removes it.
  useEffect(() => document.documentElement.style.setProperty('--accent', color ?? ''), [color])
  useEffect(() => void (document.title = `${title} · ${name}`), [title, name])
  useEffect(() => {
    window.scrollTo(0, 0)
    if (isUsed && document.activeElement === document.body) target.current?.focus({ preventScroll: true })
  }, [target, title])
}

const connectionStates: Record<LiveState['phase'] | 'crowdedOut', Text> = {
  off: 'Offline',
  connecting: 'Connecting…',
  ready: 'Connected',
  waiting: 'Connection lost. Reconnecting…',
  crowdedOut: 'Gatehouse is open in too many windows. Reload this page to use it here.',
}

export function PageFrame({ user, title, children }: { user: User | null; title: string; children: ReactNode }) {
  const [pathname] = useLocation()
  const main = useRef<HTMLElement>(null)
  const { info } = useInstanceInfo()
  const { phase, retryAt } = useStore(useClient().live)
  const connection = phase === 'waiting' && retryAt === null ? 'crowdedOut' : phase
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
          <nav className="header__nav" aria-label={t('Main')}>
            <NavLink href={routes.home} current={pathname.startsWith('/channels')} text="Home" />
            <NavLink href="/settings" current={pathname.startsWith('/settings')} text="Settings" />
            {user?.isAdmin && <NavLink href="/admin" current={pathname.startsWith('/admin')} text="Admin" />}
          </nav>
          <div className="header__actions">
            <ThemeToggle />
            {user && <AccountMenu user={user} />}
          </div>
        </div>
      </header>
      <main ref={main} id="main" className="page__main" tabIndex={-1}>
        {user && <SecurityNotices user={user} />}
        {children}
      </main>
      <footer className="footer">
        <LanguageSelect />
        <span>
          {info ? t('{name} · Gatehouse {version}', { name: info.name, version: info.version }) : t('Gatehouse')}
        </span>
        {user && <span role="status">{t(connectionStates[connection])}</span>}
      </footer>
    </div>
  )
}

export function NavLink({ href, current, text }: { href: string; current: boolean; text: Text }) {
  return (
    <Link href={href} className="nav-link" aria-current={current ? 'page' : undefined}>
      {t(text)}
    </Link>
  )
}

const close = (event: MouseEvent<HTMLElement>) => event.currentTarget.closest<HTMLElement>('[popover]')?.hidePopover()

function AccountMenu({ user }: { user: User }) {
  const client = useClient()
  const [, navigate] = useLocation()
  const logOut = () => {
    client.logOut()
    navigate(routes.login) // whoever logs in next starts at home
  }
  return (
    <Menu label={t('Your account')} face={<UserAvatar user={user} />}>
      <div className="menu__title">
        <UserNames user={user} />
      </div>
      <Link href="/settings/profile" className="menu__item" onClick={close}>
        {t('Your profile')}
      </Link>
      <Link href="/settings/security" className="menu__item" onClick={close}>
        {user.hasPassword === false ? t('Security') : t('Password and security')}
      </Link>
      <MenuItem text="Log out" onClick={logOut} />
    </Menu>
  )
}

/** Said on every page of the account. The page that made the change says the same. */
const changes: Record<Exclude<SecurityNotice['what'], 'second_factor_blocked'>, Text> = {
  second_factor_on: 'Two-factor authentication is on.',
  second_factor_off: 'Two-factor authentication is off.',
  passkey_added: 'Passkey added.',
  passkey_removed: 'Passkey removed.',
  identity_linked: 'Identity provider linked.',
  identity_unlinked: 'Identity provider removed.',
}

/**
 * A change is a toast. Wrong codes stay on the page, because someone else may have the password.
 * Contract: 3, Second factor, Passkeys, Identity providers.
 */
function SecurityNotices({ user: { id: userId, hasPassword } }: { user: User }) {
  const { live } = useClient()
  const showToast = useToast()
  const [blocked, setBlocked] = use(BlockedCodesContext)
  useEffect(
    () =>
      live.onEvent((event) => {
        if (!isSecurityNotice(event)) return
        if (event.what === 'second_factor_blocked') setBlocked({ userId, at: event.at })
        else showToast(t(changes[event.what]))
      }),
    [live, showToast, userId, setBlocked],
  )
  return (
    <div role="status">
      {blocked?.userId === userId && (
        <Notice
          tone="warning"
          text={
            hasPassword === false
              ? 'Someone logged in as you at your identity provider and then entered ten wrong authentication codes ({date}). If this wasn’t you, secure your account there now.'
              : 'Someone entered your password and then ten wrong authentication codes ({date}). If this wasn’t you, change your password now.'
          }
          values={{ date: formatDateTime(blocked.at) }}
        />
      )}
    </div>
  )
}
