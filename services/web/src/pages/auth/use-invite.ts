import type { InviteCheck } from '@gatehouse/client'
import { useState } from 'react'
import { useClient, useQuery } from '../../hooks.ts'

export type InviteEntry = {
  token: string
  /** Null without a token and while checking. */
  check: InviteCheck | null
  checking: boolean
  /** True during the first check of the token in the URL. */
  initialCheck: boolean
  enter(typed: string): void
}

export function useInvite(tokenInUrl: string): InviteEntry {
  const client = useClient()
  const [token, setToken] = useState(tokenInUrl)
  const query = useQuery(`invite ${token}`, async (signal) => {
    return token ? await client.call('checkInvite', { query: { token }, signal }) : null
  })
  return {
    token,
    check: query.loading ? null : query.data,
    checking: query.loading && token !== '',
    initialCheck: token === tokenInUrl && query.loading && query.data === null,
    enter: (typed) => setToken(parseInviteToken(typed)),
  }
}

/** The token of an invite link. Any other text is a token. */
export function parseInviteToken(typed: string): string {
  const text = typed.trim()
  return URL.parse(text)?.searchParams.get('invite') ?? text
}
