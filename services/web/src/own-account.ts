import type { User } from '@gatehouse/client'
import { useQuery } from './hooks.ts'

let cached: User | null = null

/**
 * The account with what only GET @me names: the email address, and how many invites it may create. The user of the session
 * can be the one of a login or of a socket. Cached between pages.
 */
export function useOwnAccount({ id }: User) {
  const { data, ...query } = useQuery(`own account ${id}`, async (signal, client) => {
    return (cached = await client.call('getSelf', { signal }))
  })
  return { ...query, account: data ?? (cached?.id === id ? cached : null) }
}
