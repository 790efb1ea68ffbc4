import type { InviteCheck } from '@gatehouse/client'
import { useState } from 'react'
import { client } from '../../client.ts'
import { useLoad } from '../../hooks/use-load.ts'
import { tokenIn } from './invite-token.ts'

export type InviteEntry = {
  token: string
  /** What the server said of the token; null without one, and while it is asked. */
  check: InviteCheck | null
  checking: boolean
  /** True until the token of the address has been asked about for the first time. */
  unasked: boolean
  /** Takes an invite link or its token, as a person pastes it. */
  enter(typed: string): void
}

/** The invite of this registration, from the address or from what was pasted. */
export function useInvite(fromAddress: string): InviteEntry {
  const [token, setToken] = useState(fromAddress)
  const load = useLoad(`invite ${token}`, async (signal) => {
    return token ? await client.api.auth.checkInvite(token, { signal }) : null
  })
  return {
    token,
    check: load.loading ? null : load.data,
    checking: load.loading && token !== '',
    unasked: token === fromAddress && load.loading && load.data === null,
    enter: (typed) => setToken(tokenIn(typed)),
  }
}
