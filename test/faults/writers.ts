import type { History } from './history.ts'
import type { InstanceClient } from './instance-client.ts'
import type { TestUser } from './users.ts'

/**
 * Writes rising numbers into a profile and reads them back: an acknowledged write is never lost, whichever replica
 * answers. Design: invariant 2.
 */
export async function write(instance: InstanceClient, history: History, person: TestUser, stop: AbortSignal) {
  let acknowledged = 0
  let attempted = 0

  async function check(when: string): Promise<void> {
    const least = acknowledged
    const answer = await instance.call('GET', '/api/users/@me', { token: person.token })
    if (answer?.status !== 200) return
    const seen = Number(answer.body.customStatus ?? 0)
    history.count('reads checked against acknowledged writes')
    if (seen < least)
      history.violation(`${when}: write ${least} of ${person.username} was acknowledged, ${seen} is there`)
    if (seen > attempted) history.violation(`${when}: ${seen} of ${person.username} was never written`)
  }

  while (!stop.aborted) {
    attempted += 1
    const body = { customStatus: String(attempted) }
    const answer = await instance.call('PATCH', '/api/users/@me', { token: person.token, body })
    if (answer?.status === 200) {
      acknowledged = attempted
      history.count('writes acknowledged')
    }
    await check('during the run')
  }
  return { checkAtTheEnd: () => check('at the end') }
}
