import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '@gatehouse/runtime'
import { buildAccountState, capturedLog } from '@gatehouse/test-kit'
import { type AccountStateCache, createAccountStates, createCacheInvalidator, judgeToken } from '../src/index.ts'

/** The password of version n was chosen in second 1,000 n. */
export const stateOf = (userId: string, version: number) =>
  buildAccountState({ userId, version, passwordChangedAt: version * 1_000_000 })

export type RevocationLoad = AsyncDisposable & {
  /** Resolves when the change is answered. */
  change(userId: string): Promise<void>
  /** `stale`: accepted with a token that a change revoked, after that change was answered. */
  counts: { judged: number; stale: number; failed: number; loads: number }
}

type Options = { gateway: AccountStateCache; identity: AccountStateCache; userIds: readonly string[] }

/** Judges the last revoked token of each user again and again, through the cache of a gateway, until it is disposed. */
export function startRevocationLoad({ gateway, identity, userIds }: Options): RevocationLoad {
  const versions = new Map(userIds.map((userId) => [userId, { stored: 1, answered: 1 }]))
  const counts = { judged: 0, stale: 0, failed: 0, loads: 0 }
  const { invalidate } = createCacheInvalidator({ cache: identity, clock: systemClock, log: capturedLog().log })
  const states = createAccountStates({
    cache: gateway,
    load: async (ids) => {
      counts.loads += 1
      return { states: ids.map((userId) => stateOf(userId, versions.get(userId)!.stored)), cacheId: identity.id() }
    },
  })
  const end = new AbortController()
  const judge = async (userId: string) => {
    while (!end.signal.aborted) {
      const claims = { iat: (versions.get(userId)!.answered - 1) * 1_000 }
      const verdict = await states.find(userId).then(
        (state) => judgeToken(claims, state),
        () => undefined,
      )
      counts.judged += 1
      if (verdict === undefined) counts.failed += 1
      else if (verdict !== 'revoked') counts.stale += 1
      await pause(2)
    }
  }
  const judging = Promise.all(userIds.map(judge))
  return {
    counts,
    change: async (userId) => {
      const version = versions.get(userId)!
      version.stored += 1
      const own = version.stored
      await invalidate(stateOf(userId, own))
      version.answered = Math.max(version.answered, own)
    },
    [Symbol.asyncDispose]: async () => {
      end.abort()
      await judging
    },
  }
}
