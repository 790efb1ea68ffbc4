import { createEncryptionKey } from '@gatehouse/auth'
import { deleteIdentitiesAtPeers, limits, type FanoutResult } from '@gatehouse/contracts'
import type { User } from '@gatehouse/domain'
import { read } from '@gatehouse/database'
import { answered } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

const path = '/api/users/@me/federation-credential'
const origin = 'https://orbit.example'

const success: FanoutResult = { success: true }
const failure: FanoutResult = { success: false, error: 'timeout' }

type Issued = { origin: string; secret: string; provisioned: boolean }

/** Contract: 3, federation-credential. */
describe('The federation credential', () => {
  let identity: TestIdentity
  let user: User
  before(async () => void (identity = await startTestIdentity()))
  after(() => identity[Symbol.asyncDispose]())
  beforeEach(async () => void (user = await buildUser(identity)))

  const ask = (body: unknown, { as = user, at = identity } = {}) => at.call('POST', path, { as, body })
  const issue = async (body: object = { origin }, options: Parameters<typeof ask>[1] = {}) =>
    (await answered(ask(body, options), 200)).body as Issued
  const codeOf = async (answer: ReturnType<typeof ask>) => {
    const { status, body } = await answer
    return [status, (body as { code: string }).code]
  }
  const storedRows = (of: User = user) =>
    read<{ origin: string; secret: string; provisioned_at: string | null }>(
      identity.deps.orm.em.fork(),
      'select origin, secret, provisioned_at from federation_credentials where user_id = ? order by origin',
      [of.id],
    )

  it('is made once for each user and origin, however the origin is spelled', async () => {
    const first = await issue()
    expect(first).to.deep.equal({ origin, secret: first.secret, provisioned: false })
    expect(first.secret).to.match(/^[\w-]{43}$/)

    for (const spelling of ['orbit.example', ' HTTPS://Orbit.Example:443/some/path?q#f '])
      expect(await issue({ origin: spelling })).to.deep.equal(first)
    const others = [
      await issue({ origin: `${origin}:8443` }),
      await issue({ origin: 'https://other.example' }),
      await issue({ origin }, { as: await buildUser(identity) }),
    ]
    expect(others[0]!.origin).to.equal(`${origin}:8443`)
    expect(new Set([first, ...others].map(({ secret }) => secret)).size).to.equal(4)
  })

  it('is one for sixteen callers at two replicas', async () => {
    await using second = await startTestIdentity({ databaseUrl: identity.databaseUrl })
    const calls = Array.from({ length: 16 }, (_, index) => issue({ origin }, { at: index % 2 ? second : identity }))
    const secrets = (await Promise.all(calls)).map(({ secret }) => secret)

    expect(new Set(secrets).size).to.equal(1)
    expect(await storedRows()).to.have.length(1)
  })

  it('is marked as provisioned once, by the first call or a later one', async () => {
    expect(await issue({ origin: 'https://a.example', markProvisioned: true })).to.include({ provisioned: true })
    await issue()
    expect(await issue({ origin, markProvisioned: false })).to.include({ provisioned: false })
    expect(await issue({ origin, markProvisioned: true })).to.include({ provisioned: true })
    const marked = await storedRows()
    identity.clock.advance(60_000)
    expect(await issue({ origin, markProvisioned: true })).to.include({ provisioned: true })

    expect(await storedRows()).to.deep.equal(marked)
  })

  it('is stored encrypted, for its row alone, and stays readable when the key is rotated', async () => {
    const { secret } = await issue()
    const [row] = await storedRows()
    expect(row!.secret).to.not.include(secret)

    const encryptionKey = createEncryptionKey('another key, which took its place', [identity.config.encryptionSecret])
    await using rotated = await startTestIdentity({ databaseUrl: identity.databaseUrl, overrides: { encryptionKey } })
    expect(await issue({ origin }, { at: rotated })).to.include({ secret })

    const other = await buildUser(identity)
    const moved =
      'insert into federation_credentials select ?, origin, secret, created_at from federation_credentials where user_id = ?'
    await identity.deps.orm.em.fork().execute(moved, [other.id, user.id])
    expect((await ask({ origin }, { as: other })).status).to.equal(500)
  })

  it('is in no log line and in no event', async () => {
    const { secret } = await issue()
    await issue({ origin, markProvisioned: true })

    const events = await read<object>(identity.deps.orm.em.fork(), 'select * from outbox')
    expect(JSON.stringify([identity.logLines, events])).to.not.include(secret)
  })

  it('needs the origin of another instance', async () => {
    for (const body of [{}, { origin: '' }]) expect(await codeOf(ask(body))).to.deep.equal([400, 'origin_required'])
    const long = `https://orbit.example/${'a'.repeat(500)}`
    const wrong = [
      7,
      'ftp://orbit.example',
      'https://eve@orbit.example',
      'https://',
      'a b',
      `${'a'.repeat(254)}.b`,
      long,
    ]
    for (const given of [...wrong, 'https://[::1]', 'https://or_bit.example'])
      expect(await codeOf(ask({ origin: given })), String(given)).to.deep.equal([400, 'origin_invalid'])
    for (const own of ['here.example', 'https://here.example', 'http://HERE.example/'])
      expect(await codeOf(ask({ origin: own })), own).to.deep.equal([400, 'federation_credential_remote_only'])
    expect(await codeOf(ask({ origin, markProvisioned: 'yes' }))).to.deep.equal([400, 'validation_failed'])
    expect(await storedRows()).to.deep.equal([])
  })

  it('is a matter of the home: not of a replica, but of a detached account', async () => {
    const replica = await buildUser(identity, { username: 'eve@home.example', homeInstance: 'home.example' })
    expect(await codeOf(ask({ origin }, { as: replica }))).to.deep.equal([409, 'federation_credential_home_only'])

    const detached = { detachedHomeInstance: 'reset.example', federationHomeOrphaned: true }
    const kai = await buildUser(identity, { username: 'kai@reset.example', ...detached })
    expect(await issue({ origin }, { as: kai })).to.include({ origin })
    expect((await identity.call('POST', path, { body: { origin } })).status).to.equal(401)
  })

  it('ends for one account at a bound', async () => {
    const fill = `insert into federation_credentials (user_id, origin, secret, created_at)
      select ?, 'https://i' || n, 's', now() from generate_series(1, ?) n`
    await identity.deps.orm.em.fork().execute(fill, [user.id, limits.federationCredentialsMax - 1])
    await issue()

    const refused = await codeOf(ask({ origin: 'https://one-more.example' }))
    expect(refused).to.deep.equal([409, 'too_many_federation_credentials'])
    await issue()
  })

  it('goes with the account', async () => {
    await issue()
    expect(await storedRows()).to.have.length(1)
    const body = { username: user.username, password: testPassword }
    await answered(identity.call('DELETE', '/api/users/@me', { as: user, body }), 200)

    expect(await storedRows()).to.deep.equal([])
  })

  for (const [mode, kept] of [
    ['soft', ['https://b.example']],
    ['full', ['https://b.example']],
    ['leave', ['https://a.example', 'https://b.example']],
  ] as const) {
    it(`goes, or stays, with a deletion there: ${mode}`, async () => {
      const origins = ['https://a.example', 'https://b.example']
      await using _ = await identity.deps.bus.respond(deleteIdentitiesAtPeers, async (asked) => ({
        results: asked.origins.map((at) => ({ origin: at, result: /^https:..a/i.test(at) ? success : failure })),
      }))
      for (const at of origins) await issue({ origin: at })
      const body = { origins: ['https://A.example/', 'https://b.example'], mode }
      // `leave` succeeds for whatever is an origin.
      await answered(identity.call('POST', '/api/users/@me/federation-identity/delete', { as: user, body }), 200)

      expect((await storedRows()).map((row) => row.origin)).to.deep.equal(kept)
    })
  }
})
