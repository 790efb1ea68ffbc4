import { setTimeout as pause } from 'node:timers/promises'
import type { History } from './history.ts'
import { pick, type InstanceClient } from './instance-client.ts'
import { logIn, type TestUser } from './users.ts'

/** Tokens that an acknowledged password change revoked. */
export type RevokedTokens = string[]

/** Changes the password of a user repeatedly; each acknowledged change adds a token that must be rejected. */
export async function changePasswords(
  instance: InstanceClient,
  history: History,
  person: TestUser,
  revoked: RevokedTokens,
  stop: AbortSignal,
): Promise<void> {
  let { token, password } = person
  for (let round = 1; !stop.aborted; round += 1) {
    await pause(100)
    const newPassword = `password ${round} of ${person.username}`
    const body = { currentPassword: password, newPassword }
    const answer = await instance.call('POST', '/api/users/@me/change-password', { token, body })
    if (answer?.status === 200) {
      revoked.push(token)
      history.count('tokens revoked by an acknowledged change')
      token = String(answer.body.token)
      password = newPassword
    } else if (answer === null || answer.status >= 500 || answer.status === 401) {
      // The outcome is unknown: the password that logs in tells.
      ;({ token, password } = await logInWithEither(instance, person.username, [newPassword, password], stop))
    }
  }
}

async function logInWithEither(
  instance: InstanceClient,
  username: string,
  passwords: string[],
  stop: AbortSignal,
): Promise<TestUser> {
  for (;;) {
    for (const password of passwords) {
      try {
        return await logIn(instance, username, password)
      } catch {
        if (stop.aborted) return { id: '', username, password, token: '' }
      }
    }
    await pause(200)
  }
}

/** Presents revoked tokens to every gateway: all must be rejected. Design: invariant 1. */
export async function probeRevoked(
  instance: InstanceClient,
  history: History,
  revoked: RevokedTokens,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    await pause(20)
    if (revoked.length === 0) continue
    // A stale cache entry would accept the latest one.
    const token = Math.random() < 0.5 ? revoked.at(-1)! : pick(revoked)
    const gateway = pick(instance.gateways)
    const answer = await instance.call('GET', '/api/users/@me', { token, gateway })
    if (answer) history.count('revoked tokens presented')
    if (answer?.status === 200) history.violation(`${gateway} accepted a revoked token`)
  }
}
