import { accountState, type AccountState } from '@gatehouse/contracts'
import { commonErrors } from '@gatehouse/runtime'
import { callerHeader } from '@gatehouse/auth'
import { z } from 'zod'
import { vouch } from './authenticate.ts'
import type { Deps } from './deps.ts'
import type { Replica } from './forwarding/replicas.ts'
import { policy } from './policy.ts'

const answer = z.object({ states: z.array(accountState) })

type Needs = Pick<Deps, 'replicas' | 'callerKey' | 'clock'>

/**
 * Asks identity for the truth about accounts, one replica after the other. Rejects with unavailable when none answers.
 * Design: invariant 1.
 */
export function loadAccountStates(deps: Needs) {
  const { identity } = deps.replicas
  return async (userIds: readonly string[]): Promise<AccountState[]> => {
    const tried: Replica[] = []
    let cause: unknown
    for (let replica = identity.pick(); replica; replica = identity.pick(tried)) {
      tried.push(replica)
      try {
        const states = await ask(deps, replica, userIds)
        identity.praise(replica)
        return states
      } catch (error) {
        identity.rest(replica)
        cause = error
      }
    }
    throw commonErrors.unavailable({ headers: { 'Retry-After': '1' }, cause })
  }
}

async function ask(deps: Needs, { pool }: Replica, userIds: readonly string[]): Promise<AccountState[]> {
  const { statusCode, body } = await pool.request({
    path: '/internal/account-states',
    method: 'POST',
    headers: { 'content-type': 'application/json', [callerHeader]: vouch(deps, { address: 'gateway', account: null }) },
    body: JSON.stringify({ userIds }),
    signal: AbortSignal.timeout(policy.stateRequestMs),
  })
  const told: unknown = await body.json()
  if (statusCode !== 200) throw new Error(`identity answered ${statusCode}`)
  return answer.parse(told).states
}
