import { createTokenKey, verifyToken } from '@gatehouse/auth'
import { accountStatesQuery, type AccountState } from '@gatehouse/contracts'
import type { TestCaller } from '@gatehouse/test-kit'
import { expect } from 'chai'
import fc from 'fast-check'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

/** One writer of one account, or of the settings: its writes follow each other, those of the writers race. */
type Writer = {
  /** Writes on one replica, and gives what every read after the answer shows. */
  write: (replica: TestIdentity, kind: number) => Promise<object>
  /** What a read on a replica shows. */
  read: (replica: TestIdentity) => Promise<object>
}

const replica = fc.nat({ max: 1 })
const writes = fc.array(fc.tuple(replica, fc.nat({ max: 3 }), replica), { minLength: 1, maxLength: 4 })

describe('Reads with two replicas', () => {
  const replicas: TestIdentity[] = []
  let admin: { id: string; username: string; isAdmin: true }
  let built = 0
  before(async () => {
    const first = await startTestIdentity()
    replicas.push(first, await startTestIdentity({ databaseUrl: first.databaseUrl }))
    replicas[1]!.clock.set(first.clock.now())
    const { id, username } = await buildUser(first, { isAdmin: true })
    admin = { id, username, isAdmin: true }
  })
  after(async () => {
    for (const one of replicas.reverse()) await one[Symbol.asyncDispose]()
  })

  it('show an answered change of profile, role, password or settings, and a deletion, on either of them', async () => {
    const racing = fc.asyncProperty(fc.array(writes, { minLength: 3, maxLength: 3 }), async (plans) => {
      const writers = [await accountWriter(replicas[0]!), await accountWriter(replicas[0]!), settingsWriter()]
      await Promise.all(writers.map(async (writer, index) => await run(writer, plans[index]!)))
    })
    await fc.assert(racing, { numRuns: 8, seed: 7, interruptAfterTimeLimit: 60_000 })
  })

  async function run({ write, read }: Writer, plan: readonly (readonly [number, number, number])[]): Promise<void> {
    for (const [at, kind, other] of plan) {
      // A read that begins before the answer may show either; it must not be what a later one gets.
      let isAnswered = false
      const early = replicas.map(async (one) => {
        while (!isAnswered) await read(one)
      })
      const expected = await write(replicas[at]!, kind)
      const shown = [replicas[other]!, ...replicas].map(read)
      isAnswered = true
      for (const one of await Promise.all(shown)) expect(one).to.deep.include(expected)
      await Promise.all(early)
    }
  }

  async function accountWriter(home: TestIdentity): Promise<Writer> {
    built += 1
    const { id, username } = await buildUser(home, { username: `writer_${built}` })
    const as: TestCaller = { id, username }
    let count = 0
    let isAdmin = false
    let version = 1
    let isDeleted = false
    const change = async (given: TestIdentity, [method, path]: [string, string], body: object) => {
      const caller = path.startsWith('/api/admin') ? admin : as
      const { status, text, body: answer } = await given.call(method, path, { as: caller, body })
      expect(status, text).to.equal(200)
      return answer
    }
    return {
      write: async (given, kind) => {
        count += 1
        if (isDeleted) return { isDeleted }
        if (kind === 0) {
          await change(given, ['PATCH', '/api/users/@me'], { bio: `bio ${count}` })
          return { bio: `bio ${count}` }
        }
        version += 1
        if (kind === 1) {
          isAdmin = !isAdmin
          await change(given, ['PATCH', `/api/admin/users/${id}/role`], { isAdmin })
          return { isAdmin, version }
        }
        const password = { currentPassword: testPassword, newPassword: testPassword }
        if (kind === 2) {
          const { token } = await change(given, ['POST', '/api/users/@me/change-password'], password)
          const key = createTokenKey(given.config.jwtSecret)
          as.tokenIssuedAt = verifyToken(key, String(token), given.clock.now())!.iat
          return { version }
        }
        await change(given, ['DELETE', '/api/users/@me'], { password: testPassword, username })
        isDeleted = true
        return { isDeleted, version, bio: null, isAdmin: false }
      },
      read: async (given) => {
        const states = given.call('POST', accountStatesQuery.path, { body: { userIds: [id] } })
        const user = given.call('GET', `/api/users/${id}`, { as: admin })
        const [state] = (await states).body.states as AccountState[]
        return { version: state?.version, ...(await user).body }
      },
    }
  }

  function settingsWriter(): Writer {
    return {
      write: async (given) => {
        built += 1
        const body = { instanceName: `name ${built}`, registrationOpen: built % 2 === 0 }
        expect((await given.call('PATCH', '/api/settings/instance', { as: admin, body })).status).to.equal(200)
        return { name: body.instanceName, registrationOpen: body.registrationOpen, status: built % 2 === 0 ? 200 : 403 }
      },
      read: async (given) => {
        const info = given.call('GET', '/api/instance/info')
        const { status } = await given.call('GET', `/api/auth/check-username?username=free_${built}`)
        return { ...(await info).body, status }
      },
    }
  }
})
