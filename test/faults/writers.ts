import type { History } from './history.ts'
import type { InstanceClient } from './instance-client.ts'
import type { TestUser } from './users.ts'

/** An account may write sixty times a minute. Contract: 1, rate limits. */
const writeIntervalMs = 1_050

/**
 * Writes rising numbers into a profile and reads them back: an acknowledged write is never lost, whichever replica
 * answers. Design: invariant 2.
 */
export async function write(instance: InstanceClient, history: History, person: TestUser, stop: AbortSignal) {
  let acknowledged = 0
  let attempted = 0
  /** Those without an answer, or with one that something failed: each may be carried out later, also after the next one. */
  const open = new Set<number>()
  let nextWriteAt = 0

  async function check(when: string): Promise<void> {
    const least = acknowledged
    const answer = await instance.call('GET', '/api/users/@me', { token: person.token })
    if (answer?.status !== 200) return
    const current = Number(answer.body.customStatus ?? 0)
    history.count('reads checked against acknowledged writes')
    if (current < least && !open.has(current))
      history.violation(`${when}: write ${least} of ${person.username} was acknowledged, ${current} is there`)
    if (current > attempted) history.violation(`${when}: ${current} of ${person.username} was never written`)
  }

  while (!stop.aborted) {
    await check('during the run')
    if (performance.now() < nextWriteAt) continue
    nextWriteAt = performance.now() + writeIntervalMs
    attempted += 1
    const body = { customStatus: String(attempted) }
    const answer = await instance.call('PATCH', '/api/users/@me', { token: person.token, body })
    if (answer?.status === 200) {
      acknowledged = attempted
      history.count('writes acknowledged')
    } else if (!answer || answer.status >= 500) {
      open.add(attempted)
    }
  }
  return { checkAtTheEnd: () => check('at the end') }
}
