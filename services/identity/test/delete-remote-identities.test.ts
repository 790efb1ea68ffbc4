import { deleteIdentitiesAtPeers, profileChanged, type FanoutResult } from '@gatehouse/contracts'
import { answered } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { buildUser, collectEvents, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

type Asked = { userId: string; origins: string[]; mode: string }

const path = '/api/users/@me/federation-identity/delete'
const instances = ['a', 'b', 'c'].map((name) => ({ origin: `https://${name}.example`, username: 'rosa' }))
const [a, b, c] = instances.map(({ origin }) => origin) as [string, string, string]
const success: FanoutResult = { success: true }
const owning: FanoutResult = { success: false, error: 'owns_spaces', ownedSpaces: [{ id: '1', name: 'Garden' }] }

describe('federation-identity/delete: an identity on other instances', () => {
  let identity: TestIdentity
  let user: Awaited<ReturnType<typeof buildUser>>
  let answering: AsyncDisposable
  let asked: Asked[]
  let answers: Record<string, FanoutResult>

  before(async () => {
    identity = await startTestIdentity()
  })
  after(() => identity[Symbol.asyncDispose]())
  beforeEach(async () => {
    user = await buildUser(identity, { replicatedInstances: instances })
    asked = []
    answers = { [a]: success, [b]: owning }
    answering = await identity.deps.bus.respond(deleteIdentitiesAtPeers, async (request) => {
      asked.push(request)
      const noPeer: FanoutResult = { success: false, error: 'no_active_peer' }
      return {
        results: request.origins.map((origin) => ({
          origin,
          result: Object.hasOwn(answers, origin) ? answers[origin]! : noPeer,
        })),
      }
    })
  })
  afterEach(() => answering[Symbol.asyncDispose]())

  const remove = (origins: unknown, { mode = 'soft', as = user } = {}) =>
    identity.call('POST', path, { as, body: { origins, mode } })
  const listed = async () => (await readUser(identity, user.id)).replicatedInstances.map(({ origin }) => origin)

  it('is deleted at all by one question, and the instances where it is gone are forgotten', async () => {
    const entries = instances.map(({ origin }) => ({ origin, addedAt: 1, status: 'connected' }))
    const registry = '/api/users/@me/federation-registry'
    await answered(identity.call('PUT', registry, { as: user, body: { registry: entries, updatedAt: 1 } }), 200)
    await using events = await collectEvents(identity, [profileChanged])
    const origins = [`${a}/`, a, b, c, '__proto__']
    answers[`${a}/`] = success

    const { status, body } = await remove(origins, { mode: 'full' })

    expect(status).to.equal(200)
    expect(asked).to.deep.equal([{ userId: user.id, origins, mode: 'full' }])
    expect((body as { results: object }).results).to.include.keys(origins)
    expect((body as { results: object }).results).to.deep.include({ [a]: success, [`${a}/`]: success, [b]: owning })
    expect(await listed()).to.deep.equal([b, c])
    const kept = (await identity.call('GET', registry, { as: user })).body as { registry: { origin: string }[] }
    expect(kept.registry.map(({ origin }) => origin)).to.deep.equal([b, c])
    const published = await events.ofUser(user.id, 2)
    expect(published.map(({ payload }) => payload['changed'])).to.deep.equal([
      ['federationRegistry'],
      ['replicatedInstances'],
    ])
  })

  it('is left without a message by mode leave, which succeeds for whatever is an origin', async () => {
    const { body } = await remove([a, 'https://stranger.example', 'no origin'], { mode: 'leave' })

    const noPeer = { success: false, error: 'no_active_peer' }
    expect(body).to.deep.equal({ results: { [a]: success, 'https://stranger.example': success, 'no origin': noPeer } })
    expect(asked).to.deep.equal([])
    expect(await listed()).to.deep.equal([b, c])
  })

  it('is told to be gone also where its instance cannot be forgotten', async () => {
    await identity.deps.orm.em
      .fork()
      .execute('alter table users add constraint kept check (position(? in replicated_instances) > 0) not valid', [a])
    const { status, body } = await remove([a])
    await identity.deps.orm.em.fork().execute('alter table users drop constraint kept')

    expect([status, body]).to.deep.equal([200, { results: { [a]: success } }])
    expect(await listed()).to.deep.equal([a, b, c])
    expect(identity.logLines.some(({ msg }) => /replicated instances not updated/.test(String(msg)))).to.equal(true)
  })

  it('is 503 while federation-fanout cannot be asked, and nothing is forgotten', async () => {
    await answering[Symbol.asyncDispose]()

    const { status, headers } = await remove([a])

    expect(status).to.equal(503)
    expect(headers.get('retry-after')).to.match(/^\d+$/)
    expect(await listed()).to.deep.equal([a, b, c])
  })

  it('is 400 for what is no list of 1 to 100 origins, and for an unknown mode', async () => {
    const many = Array.from({ length: 101 }, (_, index) => `https://i${index}.example`)

    const refused = await Promise.all([[], many, a, [7]].map((origins) => remove(origins)))
    const half = await remove([a], { mode: 'half' })
    const hundred = await remove(many.slice(1))

    expect([...refused, half].map(({ status }) => status)).to.deep.equal([400, 400, 400, 400, 400])
    expect(hundred.status).to.equal(200)
    expect(Object.keys((hundred.body as { results: object }).results)).to.have.length(100)
  })

  it('is a matter of those who are at home here, with a token that is not revoked', async () => {
    const guest = await buildUser(identity, { username: 'rosa@b.example', homeInstance: 'b.example' })
    const federated = await remove([a], { as: guest })
    const nobody = await identity.call('POST', path, { body: { origins: [a], mode: 'soft' } })
    const revoke = 'update users set password_changed_at = 4102444800000 where id = ?'
    await identity.deps.orm.em.fork().execute(revoke, [user.id])
    const revoked = await remove([a])

    expect([federated.status, nobody.status, revoked.status]).to.deep.equal([403, 401, 401])
    expect(federated.body['code']).to.equal('not_at_home')
    expect(asked).to.deep.equal([])
  })
})
