import { expect } from 'chai'
import { profileChanged } from '@gatehouse/contracts'
import type { User } from '@gatehouse/domain'
import { forgetInstances } from '../src/operations/deletion/delete-remote-identities.ts'
import { buildUser, collectEvents } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

const path = '/api/users/@me/federation-registry'

/** Contract: 7, The federation registry. */
describe('The federation registry', () => {
  let identity: TestIdentity
  let user: User
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(async () => void (user = await buildUser(identity)))

  const entry = (origin: string, more: object = {}) => ({ origin, status: 'connected', addedAt: 5, ...more })
  const put = (body: unknown) => identity.call('PUT', path, { as: user, body })
  const get = async () => (await identity.call('GET', path, { as: user })).body
  const complete = {
    label: 'A',
    username: 'ada',
    remoteUserId: '7',
    status: 'auth_expired',
    addedAt: 1,
    lastConnectedAt: 2,
    disconnectedAt: 3,
    errorMessage: 'expired',
  }

  it('is empty at first, and is what was put, with the defaults of what was left out', async () => {
    expect(await get()).to.deep.equal({ registry: [], updatedAt: 0 })

    const registry = [entry('https://a.example', complete), entry('https://b.example', { unknown: 1 })]
    const answer = await put({ registry, updatedAt: 9 })

    expect([answer.status, answer.body]).to.deep.equal([200, { ok: true, updatedAt: 9 }])
    const defaults = { label: '', username: '', remoteUserId: '', lastConnectedAt: null, disconnectedAt: null }
    const second = { origin: 'https://b.example', status: 'connected', addedAt: 5, ...defaults, errorMessage: null }
    expect(await get()).to.deep.equal({
      registry: [{ origin: 'https://a.example', ...complete }, second],
      updatedAt: 9,
    })
  })

  it('takes newer lists only', async () => {
    await put({ registry: [entry('https://a.example')], updatedAt: 9 })

    for (const updatedAt of [9, 8]) expect((await put({ registry: [], updatedAt })).status).to.equal(409)
    expect((await put({ registry: [], updatedAt: 10 })).status).to.equal(200)
    expect(await get()).to.deep.equal({ registry: [], updatedAt: 10 })
  })

  it('takes one of two lists of the same time', async () => {
    const answers = await Promise.all(['a', 'b'].map((name) => put({ registry: [entry(name)], updatedAt: 3 })))

    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 409])
  })

  it('refuses what is no list of connections', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => entry(`https://${index}.example`))
    const bad = [
      {},
      { registry: {}, updatedAt: 1 },
      { registry: [] },
      { registry: [], updatedAt: 0 },
      { registry: [], updatedAt: '1' },
      { registry: [], updatedAt: 1e300 },
      { registry: many(101), updatedAt: 1 },
      { registry: [entry('')], updatedAt: 1 },
      { registry: [entry('https://a.example'), entry('https://a.example')], updatedAt: 1 },
      { registry: [entry('https://a.example', { addedAt: 'now' })], updatedAt: 1 },
      { registry: [entry('https://a.example', { status: 'lost' })], updatedAt: 1 },
      { registry: [entry('https://a.example', { label: 7 })], updatedAt: 1 },
    ]

    for (const body of bad) expect((await put(body)).status, JSON.stringify(body).slice(0, 80)).to.equal(400)
    expect((await put({ registry: many(100), updatedAt: 1 })).status).to.equal(200)
  })

  it('loses the instances where the identity was deleted, at a later time', async () => {
    const registry = [entry('https://A.example:443'), entry('https://b.example')]
    const updatedAt = identity.clock.now() + 60_000
    await put({ registry, updatedAt })

    const origins = ['https://a.example']
    await forgetInstances(identity.deps, { userId: user.id, origins })

    const { registry: kept, updatedAt: later } = await get()
    expect((kept as { origin: string }[]).map(({ origin }) => origin)).to.deep.equal(['https://b.example'])
    expect(later).to.equal(updatedAt + 1)
  })

  it('says that the profile is to go to an instance that it names for the first time', async () => {
    await using events = await collectEvents(identity, [profileChanged])
    const changed = async (count: number) =>
      (await events.ofUser(user.id, count)).map(({ payload }) => payload['changed'])

    await put({ registry: [entry('https://a.example')], updatedAt: 1 })
    const first = await changed(1)
    await put({ registry: [entry('https://A.example:443', { status: 'disconnected' })], updatedAt: 2 })
    await put({ registry: [], updatedAt: 3 })
    await put({ registry: [entry('https://b.example')], updatedAt: 4 })

    expect([first, await changed(2)]).to.deep.equal([
      [['federationRegistry']],
      [['federationRegistry'], ['federationRegistry']],
    ])
  })

  it('ends with the account', async () => {
    await put({ registry: [entry('https://a.example')], updatedAt: 9 })
    const admin = await buildUser(identity, { isAdmin: true })

    expect((await identity.call('DELETE', `/api/admin/users/${user.id}`, { as: admin })).status).to.equal(200)

    const rows = await identity.deps.orm.em
      .fork()
      .execute<object[]>('select 1 from federation_registries where user_id = ?', [user.id])
    expect(rows).to.deep.equal([])
  })
})
