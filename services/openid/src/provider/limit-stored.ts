import { takeShared } from '@gatehouse/database'
import { clientNetwork } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import type { RequestState } from './adapter.ts'

/**
 * A server proves who it is before its request is stored. In the name of a public application anybody may ask. Throws what `limited`
 * gives. Contract: 3, Applications.
 */
export function createStoredLimit({ orm, clock }: Pick<Deps, 'orm' | 'clock'>, limited: () => Error) {
  const { ofNetwork, ofApplication } = policy.storedRequests
  return async ({ address, ctx }: RequestState): Promise<void> => {
    const client = ctx?.oidc.client
    if (!client || client.clientAuthMethod !== 'none') return
    const keys = [[ofNetwork, clientNetwork(address)] as const, [ofApplication, client.clientId] as const]
    for (const [limit, key] of keys) {
      const { remaining, retryAfter } = await takeShared(orm.em.fork(), { limit, key, now: clock.now() })
      if (remaining >= 0) continue
      ctx.set('Retry-After', String(retryAfter))
      throw limited()
    }
  }
}
