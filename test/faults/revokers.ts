import { setTimeout as pause } from 'node:timers/promises'
import type { History } from './history.ts'
import { pick, type Instance } from './instance.ts'
import { signIn, type Person } from './people.ts'

/** Tokens that an acknowledged password change revoked. */
export type RevokedTokens = string[]

/** Changes one's password again and again; each acknowledged change adds a token that must be dead. */
export async function changePasswords(
  instance: Instance,
  history: History,
  person: Person,
  revoked: RevokedTokens,
  stop: AbortSignal,
): Promise<void> {
  let { token, password } = person
  for (let round = 1; !stop.aborted; round += 1) {
    // A token lives on in the very second of the change. Spec: Bearer tokens.
    await pause(1_100)
    const newPassword = `password ${round} of ${person.username}`
    const body = { currentPassword: password, newPassword }
    const answer = await instance.call('POST', '/api/users/@me/change-password', { token, body })
    if (answer?.status === 200) {
      revoked.push(token)
      history.count('tokens revoked by an acknowledged change')
      token = String(answer.body.token)
      password = newPassword
    } else if (answer === null || answer.status >= 500 || answer.status === 401) {
      // It may have been done: whichever password opens the account tells.
      ;({ token, password } = await findOut(instance, person.username, [newPassword, password], stop))
    }
  }
}

async function findOut(instance: Instance, username: string, passwords: string[], stop: AbortSignal): Promise<Person> {
  for (;;) {
    for (const password of passwords) {
      try {
        return await signIn(instance, username, password)
      } catch {
        if (stop.aborted) return { id: '', username, password, token: '' }
      }
    }
    await pause(200)
  }
}

/** Shows revoked tokens to every gateway: none may ever be taken. Design: invariant 1. */
export async function probeRevoked(
  instance: Instance,
  history: History,
  revoked: RevokedTokens,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    await pause(20)
    if (revoked.length === 0) continue
    // The latest is the one that a stale cache would still take.
    const token = Math.random() < 0.5 ? revoked.at(-1)! : pick(revoked)
    const gateway = pick(instance.gateways)
    const answer = await instance.call('GET', '/api/users/@me', { token, gateway })
    if (answer) history.count('revoked tokens shown')
    if (answer?.status === 200) history.breach(`${gateway} took a revoked token`)
  }
}
