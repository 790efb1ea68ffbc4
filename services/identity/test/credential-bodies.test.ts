import { expect } from 'chai'
import { anyCharacter } from '@gatehouse/test-kit/any-character'
import fc from 'fast-check'
import type { User } from '@gatehouse/domain'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

const seed = Number(process.env.FUZZ_SEED ?? 20_261_122)
const bodies = 500

/** The endpoints that hash, as far as a client's body decides over it. */
const endpoints = [
  'POST /api/auth/register',
  'POST /api/auth/login',
  'POST /api/users/@me/verify-password',
  'POST /api/users/@me/change-password',
  'POST /api/users/@me/sessions/end',
  'POST /api/users/@me/export',
  'DELETE /api/users/@me',
] as const

const texts = fc.constantFrom(
  testPassword,
  'another password',
  'x'.repeat(73),
  '密'.repeat(25),
  '',
  'fresh',
  'a@b',
  '\0',
)
const field = fc.oneof(texts, fc.string({ unit: anyCharacter, maxLength: 100 }), fc.jsonValue({ maxDepth: 2 }))
const names = [
  'username',
  'password',
  'ticket',
  'currentPassword',
  'newPassword',
  'displayName',
  'homeInstance',
  'homeUserId',
]
const fields = Object.fromEntries([...names, 'avatarColor', 'inviteToken'].map((name) => [name, field]))
const body = fc.oneof({ weight: 9, arbitrary: fc.record(fields, { requiredKeys: [] }) }, fc.jsonValue({ maxDepth: 2 }))

describe(`${bodies} bodies with passwords that are no such bodies (seed ${seed})`, () => {
  let identity: TestIdentity
  let callers: User[]
  before(async () => {
    identity = await startTestIdentity()
    callers = [
      await buildUser(identity),
      await buildUser(identity, { username: 'ann@home.example', homeInstance: 'home.example' }),
    ]
  })
  after(async () => await identity[Symbol.asyncDispose]())

  it('are refused without a fault, and bad input never reaches the hashing', async () => {
    const statuses = new Map<number, number>()
    const { hasher } = identity
    const property = fc.asyncProperty(
      fc.constantFrom(...endpoints),
      fc.nat(1),
      body,
      async (endpoint, caller, sent) => {
        const [method = '', path = ''] = endpoint.split(' ')
        const before = hasher.addresses.length
        const as = path.includes('@me') ? callers[caller] : undefined

        const { status } = await identity.call(method, path, { as, body: JSON.stringify(sent) })

        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        expect(status, `${endpoint} ${JSON.stringify(sent)}`).to.be.lessThan(500)
        if (status === 400) expect(hasher.addresses.length, `${endpoint} ${JSON.stringify(sent)}`).to.equal(before)
      },
    )
    await fc.assert(property, { numRuns: bodies, seed, endOnFailure: true })

    expect(identity.logLines.filter(({ level }) => Number(level) >= 50)).to.deep.equal([])
    expect(statuses.get(400)).to.be.greaterThan(bodies / 4)
    expect(hasher.addresses.length).to.be.greaterThan(20)
  })
})
