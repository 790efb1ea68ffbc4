import { violates } from '@gatehouse/database'
import { type Random, randomToken, refuse } from '@gatehouse/runtime'
import { policy } from '../policy.ts'

/** An attempt is a transaction of its own. Throws no_free_token. Spec: Invite link, token. */
export async function withFreshToken<T>(
  { random }: { random: Pick<Random, 'bytes'> },
  attempt: (token: string) => Promise<T>,
): Promise<T> {
  for (let retriesLeft: number = policy.tokenRetries; ; retriesLeft -= 1) {
    try {
      return await attempt(randomToken(random, policy.tokenBytes))
    } catch (error) {
      if (!violates(error, 'invites_token_unique')) throw error
      if (retriesLeft === 0) throw refuse.no_free_token({ cause: error, headers: { 'Retry-After': '1' } })
    }
  }
}
