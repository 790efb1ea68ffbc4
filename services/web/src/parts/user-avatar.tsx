import type { User } from '@gatehouse/client'
import { client } from '../client.ts'
import { Avatar } from './avatar.tsx'
import { nameOf } from './name-of.ts'

/** The avatar of a user of this instance. */
export function UserAvatar({ user, size = 'normal' }: { user: User; size?: 'small' | 'normal' | 'large' }) {
  return (
    <Avatar
      name={nameOf(user)}
      colour={user.avatarColor}
      src={client.api.uploads.url(user.avatar)}
      size={size}
      gone={user.isDeleted === true}
    />
  )
}
