import { callerHeader } from '@gatehouse/auth'
import type { LoadedStates } from '@gatehouse/authority'
import { accountStatesQuery } from '@gatehouse/contracts'
import { refuse } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import type { Replica } from '../replicas/replicas.ts'

/**
 * Asks each replica in turn, and again with more time when one was late, or closed its connection as a service does that
 * stops. Rejects with unavailable. Design: invariant 1.
 */
export function createAccountStateLoader({ replicas, signers, log }: Pick<Deps, 'replicas' | 'signers' | 'log'>) {
  const { identity } = replicas

  async function query({ pools }: Replica, userIds: readonly string[], limitMs: number): Promise<LoadedStates> {
    const caller = signers.identity.sign({ address: 'gateway', account: null })
    const { statusCode, body } = await pools.states.request({
      path: accountStatesQuery.path,
      method: 'POST',
      headers: { 'content-type': 'application/json', [callerHeader]: caller },
      body: JSON.stringify({ userIds }),
      signal: AbortSignal.timeout(limitMs),
    })
    const reply: unknown = await body.json()
    if (statusCode !== 200) throw new Error(`identity answered ${statusCode}`)
    return accountStatesQuery.reply.parse(reply)
  }
  return async (userIds: readonly string[]): Promise<LoadedStates> => {
    let cause: unknown
    for (const limitMs of [policy.accountStatesQueryMs, policy.accountStatesSecondQueryMs]) {
      let mayAnswer = false
      for (const replica of identity.candidates()) {
        const { pools } = replica
        try {
          const loaded = await query(replica, userIds, limitMs)
          identity.markHealthy(replica)
          return loaded
        } catch (error) {
          identity.markFailed(replica)
          log.warn({ err: error, replica: replica.origin }, 'account state query failed')
          cause = error
          const { name, code } = error as NodeJS.ErrnoException
          const isBroken = brokenConnection.has(code)
          if (isBroken) identity.reconnect(replica, pools)
          mayAnswer ||= isBroken || name === 'TimeoutError'
        }
      }
      if (!mayAnswer) break
    }
    throw refuse.unavailable({ cause })
  }
}

const brokenConnection: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])
