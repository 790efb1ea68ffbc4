import type { User } from '@gatehouse/client'
import { routes } from '@gatehouse/client/routes'
import type { MouseEvent } from 'react'
import { Link, useLocation } from 'wouter'
import { useClient } from '../hooks.ts'
import { t } from '../language/language.ts'
import { UserAvatar, UserNames } from './avatar.tsx'
import { Menu, MenuItem } from './menu.tsx'

const close = (event: MouseEvent<HTMLElement>) => event.currentTarget.closest<HTMLElement>('[popover]')?.hidePopover()

export function AccountMenu({ user }: { user: User }) {
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
        {t('Password and security')}
      </Link>
      <MenuItem text="Log out" onClick={logOut} />
    </Menu>
  )
}
