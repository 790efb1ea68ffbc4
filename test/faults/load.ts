import { setTimeout as pause } from 'node:timers/promises'
import { answered, eventually } from '@gatehouse/test-kit'
import type { History } from './history.ts'
import type { InstanceClient } from './instance-client.ts'
import { redeem } from './redeemers.ts'
import { changePasswords, probeRevoked, type RevokedTokens } from './revokers.ts'
import { findWrongPresence, startSocketClient } from './socket-clients.ts'
import { registerUser, type TestUser } from './users.ts'
import { write } from './writers.ts'

/** Accounts of each kind. */
export type LoadSize = { writers: number; changers: number; clients: number }

export type TestUsers = { admin: TestUser; writers: TestUser[]; changers: TestUser[]; clients: TestUser[] }

export type Load = {
  /** Their tokens must be rejected. */
  revoked: RevokedTokens
  /** After `stop` was aborted: compares what was acknowledged with what is there. */
  finish(): Promise<void>
}

const presenceTimeoutMs = 70_000

/** `kind_1` and so on. */
export async function registerUsers(instance: InstanceClient, kind: string, count: number): Promise<TestUser[]> {
  return await Promise.all(Array.from({ length: count }, (_, index) => registerUser(instance, `${kind}_${index + 1}`)))
}

export async function registerLoad(instance: InstanceClient, size: LoadSize): Promise<TestUsers> {
  const admin = await registerUser(instance, 'admin')
  const writers = await registerUsers(instance, 'writer', size.writers)
  const changers = await registerUsers(instance, 'changer', size.changers)
  const clients = await registerUsers(instance, 'client', size.clients)
  return { admin, writers, changers, clients }
}

/** From then on, an account needs an invite. */
export async function closeRegistration(instance: InstanceClient, { token }: TestUser): Promise<void> {
  await answered(instance.call('PATCH', '/api/settings/instance', { token, body: { registrationOpen: false } }))
}

export function startLoad(instance: InstanceClient, history: History, users: TestUsers, stop: AbortSignal): Load {
  const revoked: RevokedTokens = []
  const writing = users.writers.map((person) => write(instance, history, person, stop))
  const changing = users.changers.map((person) => changePasswords(instance, history, person, revoked, stop))
  const probing = [1, 2].map(() => probeRevoked(instance, history, revoked, stop))
  const redeeming = redeem(instance, history, users.admin, stop)
  const clients = users.clients.map((person) => startSocketClient(instance, history, person))
  return {
    revoked,
    async finish() {
      await Promise.all([...changing, ...probing])
      for (const { checkAtTheEnd } of await Promise.all(writing)) await checkAtTheEnd()
      await (await redeeming).check()
      // Half of the clients stop, so that both states are checked.
      const staying = clients.slice(0, clients.length / 2)
      for (const client of clients.slice(staying.length)) client.stop()
      let wrong = ['not checked']
      await eventually(
        'presence is right',
        async () => {
          wrong = await findWrongPresence(instance, users.admin, clients)
          await pause(500)
          return staying.every(({ isReady }) => isReady()) && wrong.length === 0
        },
        presenceTimeoutMs,
      ).catch(() => wrong.forEach((what) => history.violation(`presence: ${what}`)))
      history.count('presences checked', clients.length)
      for (const client of clients) client.stop()
    },
  }
}
