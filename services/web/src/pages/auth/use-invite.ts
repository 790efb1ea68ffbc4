import type { InviteCheck } from '@gatehouse/client'
import { useState } from 'react'
import { useClient, useQuery } from '../../hooks.ts'

export type InviteEntry = {
  token: string
  /** As it was typed. */
  entered: string
  /** Null without a token and while checking. */
  check: InviteCheck | null
  error: Error | null
  checking: boolean
  /** True during the first check of the token in the URL. */
  initialCheck: boolean
  enter(typed: string): void
}

export function useInvite(tokenInUrl: string): InviteEntry {
  const client = useClient()
  const [entered, setEntered] = useState(tokenInUrl)
  const token = parseInviteToken(entered)
  const query = useQuery(`invite ${token}`, async (signal) => {
    return token ? await client.call('checkInvite', { query: { token }, signal }) : null
  })
  return {
    token,
    entered,
    check: query.loading || query.error ? null : query.data,
    error: query.error,
    checking: query.loading && token !== '',
    initialCheck: token === tokenInUrl && query.loading && query.data === null,
    enter: (typed) => (typed === entered ? query.refetch() : setEntered(typed)),
  }
}

/** The token of an invite link. Any other text is a token. */
export function parseInviteToken(typed: string): string {
  const text = typed.trim()
  return URL.parse(text)?.searchParams.get('invite') ?? text
}
