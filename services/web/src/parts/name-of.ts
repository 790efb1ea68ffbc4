import type { User } from '@gatehouse/client'

/** What a person is called: the display name, else the username. */
export function nameOf(user: Pick<User, 'displayName' | 'username'>): string {
  return user.displayName ?? user.username
}
