import { accountChanged, storeAccountState } from '@gatehouse/contracts'
import type { Deps } from './deps.ts'

type Needs = Pick<Deps, 'bus' | 'store' | 'clock' | 'edgeMetrics'>

/** Events of other changes repeat when tokens were last revoked, which may be years ago. */
const revocationMostMs = 600_000

/**
 * Keeps the cache up with changes of accounts: one gateway hears each of them, also those whose author died before it
 * could tell the cache; and any gateway tells the cache for an author who cannot reach it. Design: invariant 1.
 */
export async function feedAccountStates({ bus, store, clock, edgeMetrics }: Needs): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  opening.use(
    await bus.subscribe(accountChanged, 'account-states', async ({ payload }) => {
      await store.put(payload)
      const revokedAt = Math.max(payload.passwordChangedAt ?? 0, payload.sessionsEndedAt ?? 0)
      const lagMs = clock.now() - revokedAt
      if (lagMs < revocationMostMs) edgeMetrics.revocationHeard(Math.max(0, lagMs) / 1000)
    }),
  )
  opening.use(
    await bus.answer(storeAccountState, async (state) => {
      await store.put(state)
      return {}
    }),
  )
  return opening.move()
}
