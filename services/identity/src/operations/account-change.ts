import { accountChanged, accountSessionsEnded, type AccountState } from '@gatehouse/contracts'
import { enqueue } from '@gatehouse/bus'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'

type Change = {
  /** As it stands after the change. */
  state: AccountState
  /** Why all sockets of the account must close; absent when they stay. */
  sessionsEnded?: 'password_reset' | 'account_deleted'
  /** Of a deleted account: who is to hear that it is offline, now that nothing ties them to it any more. */
  audience?: readonly string[]
  requestId?: string | undefined
}

/**
 * Saves, in the transaction of `em`, the fact that an account was made or that what decides over its tokens changed.
 * Design: invariants 1 and 2.
 */
export async function enqueueAccountChange(
  em: EntityManager,
  { random, clock }: Pick<Deps, 'random' | 'clock'>,
  { state, sessionsEnded, audience, requestId }: Change,
): Promise<void> {
  await enqueue(em, accountChanged, state, { id: random.uuid(), requestId })
  if (!sessionsEnded) return
  const at = state.sessionsEndedAt ?? clock.now()
  const ended = { userId: state.userId, reason: sessionsEnded, at, ...(audience && { audience: [...audience] }) }
  await enqueue(em, accountSessionsEnded, ended, { id: random.uuid(), requestId })
}

/** After the commit and before the answer: no door lets an older state of the account in any more. Design: invariant 1. */
export async function settleAccountChange(
  { relay, announcer }: Pick<Deps, 'relay' | 'announcer'>,
  state: AccountState,
): Promise<void> {
  relay.kick()
  await announcer.announce(state)
}
