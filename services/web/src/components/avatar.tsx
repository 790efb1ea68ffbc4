import { parseFederatedUsername, type User } from '@gatehouse/client'
import type { CSSProperties } from 'react'
import { useClient } from '../hooks.ts'
import { formatName, t } from '../language/language.ts'
import '../styles/avatar.css'
import { initialOf } from './format.ts'

type AvatarProps = {
  name: string
  color: string | null
  src?: string | null | undefined
  size?: 'normal' | 'large'
  deleted?: boolean
}

/** Hidden from screen readers: the name is beside it. */
export function Avatar({ name, color, src, size = 'normal', deleted = false }: AvatarProps) {
  return (
    <span
      className={size === 'normal' ? 'avatar' : `avatar avatar--${size}`}
      style={avatarStyle(color)}
      data-deleted={deleted}
      aria-hidden="true"
    >
      {src ? <img src={src} alt="" /> : deleted ? '–' : initialOf(name)}
    </span>
  )
}

export const avatarStyle = (color: string | null) =>
  ({ '--avatar-color': `var(--avatar-${color ?? 'mint'})` }) as CSSProperties

export function UserAvatar({ user, size = 'normal' }: { user: User; size?: 'normal' | 'large' }) {
  const src = useClient().uploadUrl(user.avatar)
  const deleted = user.isDeleted === true
  return <Avatar name={displayNameOf(user)} color={user.avatarColor} src={src} size={size} deleted={deleted} />
}

/** A name that somebody chose. It changes the direction of nothing around it, and no browser translates it. */
export function UserName({ children, strong = false }: { children: string; strong?: boolean }) {
  const name = <bdi translate="no">{formatName(children)}</bdi>
  return strong ? <strong>{name}</strong> : name
}

export function UserNames({ user }: { user: User }) {
  return (
    <span className="user-item__names">
      <span className="user-item__name">
        <UserName>{displayNameOf(user)}</UserName>
      </span>
      <span className="muted small">
        <UserName>{user.isDeleted ? t('ID {id}', { id: user.id }) : `@${user.username}`}</UserName>
      </span>
    </span>
  )
}

/** Without a display name, the username without its instance. */
export function displayNameOf({ displayName, username }: Pick<User, 'displayName' | 'username'>): string {
  return displayName && displayName !== username ? displayName : parseFederatedUsername(username).baseName
}
