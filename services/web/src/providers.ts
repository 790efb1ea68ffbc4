import type { ProviderList } from '@gatehouse/client'
import { useQuery } from './hooks.ts'

export type Provider = ProviderList['providers'][number]

let cached: ProviderList | null = null

/** `passwords` null: not known yet. Cached between pages. Contract: 3, Identity providers. */
export function useProviders() {
  const { data, ...query } = useQuery('providers', async (signal, client) => {
    return (cached = await client.call('listProviders', { signal }))
  })
  const { providers = [], passwords = null } = data ?? cached ?? {}
  return { ...query, providers, passwords }
}

/** Whether the login page shows what it has, although one provider is the only way. */
export const logInChoice = { isWanted: false }

let fragment = ''

/** Out of the address before anything else runs: it can hold a ticket. */
export function takeFragment(): void {
  const { pathname, hash } = location
  if (!pathname.startsWith('/sign-in')) return
  history.replaceState(history.state, '', pathname)
  fragment = hash
}

/** What stood behind the `#` of /sign-in, once. */
export function readFragment(): string {
  const current = fragment
  fragment = ''
  return current
}
