import { setTimeout as pause } from 'node:timers/promises'
import type { History } from '../faults/history.ts'
import type { InstanceClient } from '../faults/instance-client.ts'
import type { TestUser } from '../faults/users.ts'

const betweenLoginsMs = 150
const betweenDeletionsMs = 400

/** Logs a user in repeatedly: each must succeed. */
export async function logInRepeatedly(instance: InstanceClient, history: History, user: TestUser, stop: AbortSignal) {
  const body = { username: user.username, password: user.password }
  while (!stop.aborted) {
    const answer = await instance.call('POST', '/api/auth/login', { body })
    if (answer?.status === 200) history.count('logins')
    else if (answer) history.violation(`a login with the right password was answered with ${answer.status}`)
    await pause(betweenLoginsMs)
  }
}

/** Creates an invite without a limit, for `deleteRepeatedly`. */
export async function createOpenInvite(instance: InstanceClient, admin: TestUser): Promise<string> {
  const body = { name: 'for everybody', maxUses: null, expiresAt: null }
  const answer = await instance.call('POST', '/api/admin/invites', { token: admin.token, body })
  return String(answer?.body.token)
}

/** Registers accounts and deletes them: each deletion is carried out once, and ends the token at every gateway. */
export async function deleteRepeatedly(instance: InstanceClient, history: History, invite: string, stop: AbortSignal) {
  for (let round = 1; !stop.aborted; round += 1) {
    const body = { username: `leaver_${round}`, password: `the password of leaver ${round}` }
    const registered = await instance.call('POST', '/api/auth/register', { body: { ...body, inviteToken: invite } })
    const token = String(registered?.body.token)
    const deleted = await instance.call('DELETE', '/api/users/@me', { token, body })
    if (registered?.status !== 201 || deleted?.status !== 200) {
      const statuses = [registered, deleted].map((answer) => answer?.status ?? 'nothing')
      history.violation(`a registration and its deletion were answered with ${statuses.join(' and ')}`)
      continue
    }
    history.count('deletions')
    for (const gateway of instance.gateways) {
      const read = await instance.call('GET', '/api/users/@me', { token, gateway })
      if (read && read.status !== 401)
        history.violation(`the token of a deleted account was answered with ${read.status}`)
    }
    await pause(betweenDeletionsMs)
  }
}
