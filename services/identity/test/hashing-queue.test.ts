import { endpoints, refusals, type Endpoint } from '@gatehouse/contracts'
import { refuse } from '@gatehouse/runtime'
import type { User } from '@gatehouse/domain'
import { answered } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { turnOn } from './authenticator.ts'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { mailTo } from './mail.ts'
import { buildTicket, linkIdentity } from './provider-builders.ts'
import { testPassword } from './quick-hasher.ts'

type Name = keyof typeof endpoints
type Request = { as?: User; id?: string; body?: object }

const password = testPassword
const newPassword = 'a password of my own'

const hashing = Object.values<Endpoint>(endpoints).filter((endpoint) => endpoint.refusals?.includes('hashing_busy'))

/** Contract: 1, Statuses. */
describe('While the hashing queue is full', () => {
  let identity: TestIdentity
  let user: User
  let admin: User
  before(async () => {
    identity = await startTestIdentity({ config: { mail: mailTo({ port: 1 }) } })
    user = await buildUser(identity)
    admin = await buildUser(identity, { isAdmin: true })
  })
  after(async () => await identity[Symbol.asyncDispose]())
  afterEach(() => (identity.hasher.beforeWork = async () => undefined))

  const own = (body: object) => async (): Promise<Request> => ({ as: user, body })
  const ownWithFactor = async (): Promise<Request> => {
    const as = await buildUser(identity)
    return { as, body: { password, code: (await turnOn(identity, as)).code() } }
  }
  const recovery = async (): Promise<Request> => {
    const path = `/api/admin/users/${user.id}/recovery-link`
    const { body } = await answered(identity.call('POST', path, { as: admin }), 201)
    return { body: { token: new URL(String(body['url'])).hash.slice(1), newPassword } }
  }
  const requests: Partial<Record<Name, () => Promise<Request>>> = {
    register: async () => ({ body: { username: 'newcomer', password } }),
    login: async () => ({ body: { username: user.username, password } }),
    recover: recovery,
    verifyPassword: own({ password }),
    changePassword: own({ currentPassword: password, newPassword }),
    setEmail: own({ email: 'me@mail.example', password }),
    removeEmail: own({ password }),
    deleteSelf: async () => ({ as: user, body: { username: user.username, password } }),
    endSessions: own({ password }),
    exportData: own({ password }),
    beginSecondFactor: own({ password }),
    renewRecoveryCodes: ownWithFactor,
    endSecondFactor: ownWithFactor,
    beginPasskey: own({ password }),
    removePasskey: async () => ({ as: user, id: '1', body: { password } }),
    resetPassword: async () => ({ as: admin, id: user.id }),
    finishProvider: async () => {
      const signedIn = { userId: user.id, provider: 'login', issuer: 'https://login.example', subject: 'to link' }
      return { as: user, body: { ticket: await buildTicket(identity, signedIn, { purpose: 'link' }), password } }
    },
    unlinkIdentity: async () => ({ as: user, id: (await linkIdentity(identity, user)).id, body: { password } }),
  }

  for (const { name, method, path } of hashing) {
    it(`${method} ${path} is 503 with Retry-After`, async () => {
      const { id = '', ...request } = (await requests[name]?.()) ?? {}
      identity.hasher.beforeWork = async () => {
        throw refuse.hashing_busy({ headers: { 'Retry-After': '2' } })
      }

      const { status, headers, body } = await identity.call(method, path.replace(':id', id), request)

      expect([status, headers.get('retry-after')]).to.deep.equal([503, '2'])
      expect(body).to.deep.equal({ error: refusals.hashing_busy.text, statusCode: 503, code: 'hashing_busy' })
    })
  }
})
