import { parseFederatedUsername, type User } from '@gatehouse/client'
import type { CSSProperties } from 'react'
import '../styles/avatar.css'
import { useClient } from '../hooks.ts'

type AvatarProps = {
  name: string
  color: string | null
  src?: string | null | undefined
  size?: 'normal' | 'large'
  deleted?: boolean
}

/** A picture, else the first letter of the name on a color. Hidden from screen readers: the name is beside it. */
export function Avatar({ name, color, src, size = 'normal', deleted = false }: AvatarProps) {
  return (
    <span
      className={size === 'normal' ? 'avatar' : `avatar avatar--${size}`}
      style={avatarStyle(color)}
      data-deleted={deleted}
      aria-hidden="true"
    >
      {src ? <img src={src} alt="" /> : deleted ? '–' : [...name.trim()][0]}
    </span>
  )
}

/** An avatar color of the specification, by its name in tokens.css. */
export const avatarStyle = (color: string | null) =>
  ({ '--avatar-color': `var(--avatar-${color ?? 'mint'})` }) as CSSProperties

/** The avatar of a user of this instance. */
export function UserAvatar({ user, size = 'normal' }: { user: User; size?: 'normal' | 'large' }) {
  const client = useClient()
  return (
    <Avatar
      name={displayNameOf(user)}
      color={user.avatarColor}
      src={client.uploadUrl(user.avatar)}
      size={size}
      deleted={user.isDeleted === true}
    />
  )
}

/** The display name, else the username without the instance, which stands beside it. */
export function displayNameOf(user: Pick<User, 'displayName' | 'username'>): string {
  return user.displayName ?? parseFederatedUsername(user.username).baseName
}
