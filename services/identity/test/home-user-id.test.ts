import { expect } from 'chai'
import type { User } from '@gatehouse/domain'
import { buildStub, buildUser, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

/** Contract: 3, homeUserId. */
describe('PATCH homeUserId', () => {
  let identity: TestIdentity
  let user: User
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())
  let made = 0
  beforeEach(async () => {
    made += 1
    identity.federation.user = { outcome: 'no_peer' }
    user = await buildUser(identity, { username: `fed_${made}@home.example`, homeInstance: 'home.example' })
  })

  const patch = (homeUserId: unknown, as = user) =>
    identity.call('PATCH', '/api/users/@me', { as, body: { homeUserId } })
  const stored = async () => (await readUser(identity, user.id)).homeUserId

  it('is taken once: the same again is 200, another 409', async () => {
    const first = await patch(`7${made}`)
    const again = await patch(`7${made}`)
    const other = await patch('8')

    expect([first.status, first.body.homeUserId]).to.deep.equal([200, `7${made}`])
    expect([again.status, other.status, await stored()]).to.deep.equal([200, 409, `7${made}`])
  })

  it('is for federated accounts that are not detached', async () => {
    const detached = await buildUser(identity, {
      username: 'lost@gone.example',
      detachedHomeInstance: 'gone.example',
      federationHomeOrphaned: true,
    })

    for (const as of [await buildUser(identity), detached]) expect((await patch('5', as)).status).to.equal(403)
    for (const bad of ['', null, 7, 'x'.repeat(65)]) expect((await patch(bad)).status, String(bad)).to.equal(400)
    expect((await patch('x'.repeat(64))).status).to.equal(200)
  })

  it('is tried five times an hour, and the same value again costs none of them', async () => {
    identity.federation.user = { outcome: 'not_found' }
    const asked = identity.federation.asked.length
    const statuses = []
    for (let attempt = 0; attempt < 7; attempt += 1) statuses.push((await patch(`6${made}`)).status)
    const { headers, body } = await patch(`6${made}`)
    const other = await buildUser(identity, { username: `other_${made}@home.example`, homeInstance: 'home.example' })
    const ofOther = await patch('61', other)
    identity.clock.advance(60 * 60_000)
    identity.federation.user = { outcome: 'no_peer' }
    const later = []
    for (let attempt = 0; attempt < 7; attempt += 1) later.push((await patch(`6${made}`)).status)

    expect(statuses).to.deep.equal([403, 403, 403, 403, 403, 429, 429])
    expect([headers.get('retry-after'), body['retryAfter']]).to.deep.equal(['3600', 3600])
    expect(ofOther.status).to.equal(403)
    expect(later).to.deep.equal(Array(7).fill(200))
    expect(identity.federation.asked.length - asked).to.equal(7)
  })

  it('must be of the same name at a home that is an active peer', async () => {
    const answers = [
      { outcome: 'found', username: 'somebody' },
      { outcome: 'found' },
      { outcome: 'not_found' },
      { outcome: 'unreachable' },
    ] as const
    for (const answer of answers) {
      identity.federation.user = answer
      expect((await patch(`9${made}`)).status, JSON.stringify(answer)).to.equal(403)
    }
    expect(await stored()).to.equal(null)

    identity.federation.user = { outcome: 'found', username: `fed_${made}` }
    expect((await patch(`9${made}`)).status).to.equal(200)
    expect(identity.federation.asked.at(-1)).to.deep.equal({ host: 'home.example', homeUserId: `9${made}` })
  })

  it('is confirmed by no home that the username does not name, and nothing is sent there', async () => {
    const other = await buildUser(identity, { username: `fed_${made}@good.example`, homeInstance: 'home.example' })
    identity.federation.user = { outcome: 'found', username: `fed_${made}` }
    const asked = identity.federation.asked.length

    const refused = await patch(`5${made}`, other)

    expect([refused.status, refused.body['code']]).to.deep.equal([403, 'identity_unconfirmed'])
    expect(identity.federation.asked).to.have.length(asked)
    expect((await patch(`5${made}`)).status).to.equal(200)
    expect(identity.federation.asked).to.have.length(asked + 1)
  })

  it('belongs to one live account or stub of its home; other homes count their own', async () => {
    const homeUserId = `4${made}`
    const stub = await buildStub(identity, { homeUserId })
    await buildUser(identity, {
      username: `x${made}@away.example`,
      homeInstance: 'away.example',
      homeUserId: `3${made}`,
    })

    const held = await patch(homeUserId)
    expect([held.status, held.body.error]).to.deep.equal([409, 'This identity belongs to another account'])
    expect((await patch(`3${made}`)).status).to.equal(200)
    expect((await readUser(identity, stub.id)).homeUserId).to.equal(homeUserId)
  })

  it('goes to one of two accounts that take it at once', async () => {
    const rival = await buildUser(identity, { username: `rival_${made}@home.example`, homeInstance: 'home.example' })

    const answers = await Promise.all([patch(`2${made}`), patch(`2${made}`, rival)])

    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 409])
  })
})
