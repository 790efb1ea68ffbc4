import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { startFederationFanout } from '@gatehouse/federation-fanout'
import { callerHeader } from '@gatehouse/auth'
import { eventually, answered, signTestCaller, testCallerKeys } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { WebSocket } from 'ws'
import {
  ask,
  askSigned,
  fanOut,
  logIn,
  register,
  secretFor,
  startPair,
  type Person,
  type Place,
} from './federation-pair.ts'

const stubs = 'POST /api/federation/stubs'
const deletion = 'DELETE /api/federation/identity'

describe('two whole instances', () => {
  let pair: Awaited<ReturnType<typeof startPair>>
  let a: Place
  let b: Place

  before(async () => {
    pair = await startPair()
    ;({ a, b } = pair)
  })
  after(() => pair[Symbol.asyncDispose]())

  /** Somebody at home at a, with an account at b. */
  async function buildTraveller(name: string): Promise<{ atHome: Person; away: Person }> {
    const atHome = await register(a, name)
    const away = await register(b, name, { place: a, person: atHome })
    expect([atHome.status, away.status]).to.deep.equal([201, 201])
    return { atHome, away }
  }
  const selfOf = async (place: Place, { token }: { token?: string | undefined }) =>
    await ask(place, 'GET /api/users/@me', { token })
  /** The order to delete somebody at b, as an admin of a sees it. */
  const orderOf = async ({ id }: Person) => {
    const { body } = await answered(ask(a, `GET /api/admin/users/${id}`, { token: a.adminToken }))
    return (body.orders as { state: string; attempts: number; receipt: object | null }[])[0]!
  }
  const identityOf = ({ id }: Person) => ({ homeUserId: id, homeInstance: a.host })

  it('become peers, and say so without their secret', async () => {
    const { adminToken: token } = a
    const asked = await ask(a, 'POST /api/federation/peer/initiate', { token, body: { remoteOrigin: b.origin } })
    const list = async () => [
      await ask(a, 'GET /api/federation/peers', { token }),
      await ask(b, 'GET /api/federation/peers', { token: b.adminToken }),
    ]
    await eventually('both are active', async () =>
      (await list()).every(({ body }) => (body.peers as { status: string }[])[0]?.status === 'active'),
    )
    const listed = await list()
    const secret = await secretFor(a)

    expect(asked.status).to.equal(202)
    expect(listed.map(({ body }) => (body.peers as object[]).length)).to.deep.equal([1, 1])
    expect(await secretFor(b)).to.equal(secret)
    expect(JSON.stringify([asked.body, ...listed.map(({ body }) => body), a.log, b.log])).to.not.include(secret)
  })

  it('Registration 10: let somebody in by their stub, which keeps its id', async () => {
    const rosa = await register(a, 'rosa')
    const wanted = JSON.stringify({ ...identityOf(rosa), username: 'rosa', displayName: 'Rosa' })
    const signing = { secret: await secretFor(a), as: a.origin }

    const made = await askSigned(b, stubs, wanted, signing)
    const found = await askSigned(b, stubs, wanted, signing)
    const upgraded = await register(b, 'rosa', { place: a, person: rosa })

    expect([made.status, found.status, upgraded.status]).to.deep.equal([201, 200, 200])
    expect([found.body.id, upgraded.id]).to.deep.equal([made.body.id, made.body.id])
    expect((await selfOf(b, upgraded)).body).to.include({ username: 'rosa@a.test', displayName: 'Rosa' })
  })

  it('let in whose clients are of two generations, whichever of them set the password last', async () => {
    const { atHome, away } = await buildTraveller('paul')
    const changeAt = async (place: Place, token: string | undefined, body: object) =>
      (await answered(ask(place, 'POST /api/users/@me/change-password', { token, body }))).body.token
    const issue = await answered(
      ask(a, 'POST /api/users/@me/federation-credential', { token: atHome.token, body: { origin: b.origin } }),
    )
    const secret = issue.body['secret'] as string
    const { username } = away
    const stateOf = async (token: string | undefined) => (await selfOf(b, { token })).status

    const newer = await changeAt(b, away.token, { newPassword: secret })
    const older = await logIn(b, { username, password: atHome.password })
    const afterOlder = [older.status, await stateOf(newer), (await logIn(b, { username, password: secret })).status]
    const again = await changeAt(b, older.body.token, { newPassword: secret })
    const changed = 'what the newer client chose'
    atHome.token = (await changeAt(a, atHome.token, { currentPassword: atHome.password, newPassword: changed })) ?? ''
    const afterNewer = [
      await stateOf(again),
      (await logIn(b, { username, password: atHome.password })).status,
      (await logIn(b, { username, password: changed })).status,
    ]

    expect({ afterOlder, afterNewer }).to.deep.equal({ afterOlder: [200, 200, 401], afterNewer: [200, 401, 200] })
  })

  it('Login 5: take a password that was changed at home, without ending sessions', async () => {
    const { atHome, away } = await buildTraveller('mira')
    const password = 'another long password'
    await answered(
      ask(a, 'POST /api/users/@me/change-password', {
        token: atHome.token,
        body: { currentPassword: atHome.password, newPassword: password },
      }),
    )

    const wrong = await logIn(b, { username: away.username, password: 'not the password' })
    const healed = await logIn(b, { username: away.username, password })

    expect([wrong.status, healed.status]).to.deep.equal([401, 200])
    expect((await selfOf(b, away)).status).to.equal(200)
  })

  it('federation-identity/delete: delete the identity at the other one at the word of its home, however often it is said', async () => {
    const { atHome, away } = await buildTraveller('nora')
    const replicatedInstances = [{ origin: b.origin, username: away.username }]
    await answered(ask(a, 'PATCH /api/users/@me', { token: atHome.token, body: { replicatedInstances } }))

    const first = await fanOut(a, atHome, { origins: [`${b.origin}/`] })
    const second = await fanOut(a, atHome, { origins: [b.origin] })
    const stub = await askSigned(b, stubs, JSON.stringify(identityOf(atHome)), {
      secret: await secretFor(a),
      as: a.origin,
    })

    expect([first, second]).to.deep.equal([{ [`${b.origin}/`]: { success: true } }, { [b.origin]: { success: true } }])
    expect((await selfOf(b, away)).body).to.include({ statusCode: 401, error: 'This account has been deleted' })
    expect((await logIn(b, away)).status).to.equal(401)
    expect((await selfOf(a, atHome)).body).to.deep.include({ username: 'nora', replicatedInstances: [] })
    expect(stub.status).to.equal(404)
  })

  it('keep the history in soft mode and purge it in full mode', async () => {
    const people = { soft: await buildTraveller('sofia'), full: await buildTraveller('flora') }
    const spaceId = await buildSpace(b, await ownerOf(b))
    const messages = async (person: Person) =>
      (await b.deps.orm.em.fork().execute('select id from messages where author_id = ?', [person.id])).length
    for (const { away } of Object.values(people)) await buildMessage(b, { spaceId, authorId: away.id })

    await fanOut(a, people.soft.atHome, { origins: [b.origin], mode: 'soft' })
    await fanOut(a, people.full.atHome, { origins: [b.origin], mode: 'full' })

    expect([await messages(people.soft.away), await messages(people.full.away)]).to.deep.equal([1, 0])
  })

  it('federation-identity/delete: leave an identity alone that owns spaces, and name them', async () => {
    const { atHome, away } = await buildTraveller('olga')
    const id = await buildSpace(b, away.id)

    const results = await fanOut(a, atHome, { origins: [b.origin, 'https://stranger.example'] })

    expect(results).to.deep.equal({
      [b.origin]: { success: false, error: 'owns_spaces', ownedSpaces: [{ id, name: 'Garden' }] },
      'https://stranger.example': { success: false, error: 'no_active_peer' },
    })
    expect((await selfOf(b, away)).status).to.equal(200)
  })

  it('delete in the other direction too, and only for those who are at home', async () => {
    const atHome = await register(b, 'hans')
    const away = await register(a, 'hans', { place: b, person: atHome })

    const refused = await ask(a, 'POST /api/users/@me/federation-identity/delete', {
      token: away.token,
      body: { origins: [b.origin], mode: 'soft' },
    })
    const results = await fanOut(b, atHome, { origins: [a.origin] })

    expect(refused.status).to.equal(403)
    expect(results).to.deep.equal({ [a.origin]: { success: true } })
    expect((await selfOf(a, away)).status).to.equal(401)
  })

  it('answer a deletion that comes before its stub, and make the stub afterwards', async () => {
    const early = await register(a, 'early')
    const signing = { secret: await secretFor(a), as: a.origin }

    const results = await fanOut(a, early, { origins: [b.origin] })
    const stub = await askSigned(b, stubs, JSON.stringify({ ...identityOf(early), username: 'early' }), signing)

    expect(results[b.origin]).to.deep.equal({ success: true })
    expect(stub.status).to.equal(201)
  })

  it('leave no token alive when a log-in meets the deletion', async () => {
    const { atHome, away } = await buildTraveller('lena')

    const logins = Array.from({ length: 4 }, () => logIn(b, away))
    const [results, ...outcomes] = await Promise.all([fanOut(a, atHome, { origins: [b.origin] }), ...logins])
    const tokens = outcomes.flatMap(({ body }) => (body.token ? [body.token] : []))
    const uses = await Promise.all([away.token, ...tokens].map((token) => selfOf(b, { token })))

    expect(results[b.origin]).to.deep.equal({ success: true })
    expect(outcomes.every(({ status }) => status === 200 || status === 401)).to.equal(true)
    expect(uses.map(({ status }) => status)).to.deep.equal(uses.map(() => 401))
  })

  it('do what was signed once, whichever replica hears it, and nothing else', async () => {
    const { atHome, away } = await buildTraveller('rita')
    await using replica = await startReplica(b)
    const body = JSON.stringify({ ...identityOf(atHome), mode: 'soft' })
    const signing = { secret: await secretFor(a), as: a.origin }
    const quarter = 15 * 60_000

    const refused = [
      await askSigned(b, deletion, body.replace('soft', 'full'), { ...signing, signs: body }),
      await askSigned(b, deletion, body.replaceAll(':', ': '), { ...signing, signs: body }),
      await askSigned(b, deletion, body, { ...signing, timestamp: Date.now() - quarter - 5_000 }),
      await askSigned(b, deletion, body, { ...signing, timestamp: Date.now() + quarter + 5_000 }),
      await askSigned(b, deletion, body, { ...signing, secret: 'f'.repeat(64) }),
      await askSigned(b, deletion, body, { ...signing, as: 'https://stranger.example' }),
      await askSigned(b, deletion, body, { ...signing, as: b.origin }),
    ]
    const untouched = await selfOf(b, away)
    const nonce = randomUUID()
    const first = await askSigned(b, deletion, body, { ...signing, nonce })
    const replayed = await askSigned(replica, deletion, body, { ...signing, nonce })

    expect(refused.map(({ status }) => status)).to.deep.equal([401, 401, 401, 401, 401, 403, 403])
    expect(untouched.status).to.equal(200)
    expect([first.status, replayed.status]).to.deep.equal([200, 409])
  })

  /** Contract: 7, Account states. */
  it('hold a suspension by the home until it is lifted there', async () => {
    const { atHome, away } = await buildTraveller('sven')
    const replicatedInstances = [{ origin: b.origin, username: away.username }]
    await answered(ask(a, 'PATCH /api/users/@me', { token: atHome.token, body: { replicatedInstances } }))
    const { closeCode } = await openSocket(b, away)
    const token = a.adminToken
    const seenAtB = async () =>
      (await answered(ask(b, `GET /api/admin/users/${away.id}`, { token: b.adminToken }))).body as {
        user: { homeSuspendedAt: number | null }
        audit: { action: string; actorUsername: string }[]
      }
    const told = await ask(a, `GET /api/admin/users/${atHome.id}`, { token })

    await answered(ask(a, `POST /api/admin/users/${atHome.id}/suspend`, { token, body: { reason: 'spam' } }))
    const code = await closeCode
    const during = [await selfOf(b, away), await logIn(b, away), await logIn(b, { ...away, password: 'wrong one' })]
    await answered(ask(a, `POST /api/admin/users/${atHome.id}/unsuspend`, { token }))
    await eventually('b heard that it is lifted', async () => (await seenAtB()).user.homeSuspendedAt === null)
    const again = await logIn(b, away)

    expect(told.body.instances).to.deep.equal([b.origin])
    expect(code).to.equal(4012)
    expect(during.map(({ status, body }) => [status, body['code']])).to.deep.equal([
      [401, 'token_revoked'],
      [403, 'account_suspended_by_home'],
      [401, 'invalid_credentials'],
    ])
    expect([again.status, (await selfOf(b, again.body)).status]).to.deep.equal([200, 200])
    expect((await selfOf(b, away)).status).to.equal(401)
    expect((await seenAtB()).audit.map(({ action, actorUsername }) => [action, actorUsername])).to.deep.equal([
      ['user.unsuspended-by-home', a.origin],
      ['user.suspended-by-home', a.origin],
    ])
  })

  it('do at the word of a peer nothing to accounts of others', async () => {
    const { away } = await buildTraveller('tessa')
    const own = await register(b, 'tess')
    const signing = { secret: await secretFor(a), as: a.origin }
    const tell = async (accountState: object) => {
      const event = { eventType: 'account_state', contextType: 'profile', messageId: 'm', accountState }
      const body = JSON.stringify({ version: 1, sourceInstance: a.origin, events: [event] })
      return (await askSigned(b, 'POST /api/federation/relay', body, signing)).body['rejected']
    }
    const state = { homeInstance: a.origin, state: 'suspended', ts: Date.now() }
    const noRecipient = [{ messageId: 'm', reason: 'recipient_not_found' }]

    expect(await tell({ ...state, homeUserId: own.id })).to.deep.equal(noRecipient)
    expect(await tell({ ...state, homeUserId: own.id, homeInstance: b.origin })).to.deep.equal(noRecipient)
    expect(await tell({ ...state, homeUserId: away.id })).to.deep.equal(noRecipient)
    expect([(await selfOf(b, own)).status, (await selfOf(b, away)).status]).to.deep.equal([200, 200])
  })

  /** Contract: 5, DELETE users. */
  it('delete the account at the other one when an admin of its home deletes it', async () => {
    const { atHome, away } = await buildTraveller('otto')
    const replicatedInstances = [{ origin: b.origin, username: away.username }]
    await answered(ask(a, 'PATCH /api/users/@me', { token: atHome.token, body: { replicatedInstances } }))

    const { body } = await answered(
      ask(a, `DELETE /api/admin/users/${atHome.id}`, { token: a.adminToken, body: { mode: 'full' } }),
    )
    await eventually('b has deleted it', async () => (await selfOf(b, away)).status === 401, 40_000)
    await eventually('a knows', async () => (await orderOf(atHome)).state === 'done')

    expect(body).to.deep.equal({ success: true, instances: 1 })
    expect(await orderOf(atHome)).to.deep.include({ origin: b.origin, mode: 'full', error: null })
    expect((await orderOf(atHome)).receipt).to.be.an('object')
  })

  it('are strangers again once one has revoked the other', async () => {
    const { atHome, away } = await buildTraveller('vera')
    const token = b.adminToken
    const { body } = await ask(b, 'GET /api/federation/peers', { token })
    const [peer] = body.peers as { id: string }[]

    const revoked = await ask(b, `DELETE /api/federation/peers/${peer!.id}`, { token })
    const results = await fanOut(a, atHome, { origins: [b.origin] })
    const audit = await ask(b, 'GET /api/admin/audit', { token })

    expect(revoked.body).to.deep.equal({ success: true })
    expect(results[b.origin]).to.deep.include({ success: false })
    expect((await selfOf(b, away)).status).to.equal(200)
    expect((audit.body.entries as { action: string }[]).map(({ action }) => action)).to.include('peer.revoked')
  })

  it('carry out what was ordered before with the secret of a new peering', async () => {
    const { atHome, away } = await buildTraveller('wilma')
    const replicatedInstances = [{ origin: b.origin, username: away.username }]
    await answered(ask(a, 'PATCH /api/users/@me', { token: atHome.token, body: { replicatedInstances } }))
    const former = await secretFor(a)
    await answered(ask(a, `DELETE /api/admin/users/${atHome.id}`, { token: a.adminToken }))
    await eventually('b has refused it', async () => (await orderOf(atHome)).attempts === 1, 40_000)
    const refused = await orderOf(atHome)

    for (const place of [b, a]) {
      const { adminToken: token } = place
      const { body } = await ask(place, 'GET /api/federation/peers', { token })
      const [peer] = body.peers as { id: string; status: string }[]
      if (peer!.status !== 'revoked') await answered(ask(place, `DELETE /api/federation/peers/${peer!.id}`, { token }))
      await answered(ask(place, `DELETE /api/federation/peers/${peer!.id}/permanent`, { token }))
    }
    const body = { remoteOrigin: b.origin }
    await answered(ask(a, 'POST /api/federation/peer/initiate', { token: a.adminToken, body }))
    await eventually(
      'it has been tried again',
      async () => {
        await a.deps.orm.em.fork().execute("update deletion_orders set next_attempt_at = now() where state = 'waiting'")
        return (await orderOf(atHome)).state === 'done'
      },
      60_000,
    )

    expect(refused).to.include({ state: 'waiting', mode: 'soft' })
    expect(await secretFor(a)).to.not.equal(former)
    expect((await selfOf(b, away)).status).to.equal(401)
  })
})

/** Another federation service over the same database; what the gateway adds stands in `headers`. */
async function startReplica({
  deps,
}: Place): Promise<AsyncDisposable & { url: string; headers: Record<string, string> }> {
  const { config, clock } = deps
  const service = await startFederationFanout(
    { ...config, callerKeys: testCallerKeys, host: '127.0.0.1', port: 0 },
    deps,
  )
  const caller = { address: '127.0.0.1', account: null }
  const headers = { [callerHeader]: signTestCaller('federation-fanout', caller, clock.now()) }
  return { ...service, headers }
}

/** Resolves when the socket is ready. */
async function openSocket({ url }: Place, { token }: Person): Promise<{ closeCode: Promise<number> }> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`)
  const closeCode = once(socket, 'close').then(([code]) => code as number)
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'auth', token }))
  await once(socket, 'message')
  return { closeCode }
}

async function ownerOf(place: Place): Promise<string> {
  return String((await ask(place, 'GET /api/users/@me', { token: place.adminToken })).body.id)
}

async function buildSpace({ deps }: Place, ownerId: string): Promise<string> {
  const [row] = await deps.orm.em
    .fork()
    .execute("insert into spaces (id, name, owner_id) values (next_snowflake(), 'Garden', ?) returning id", [ownerId])
  return (row as { id: string }).id
}

async function buildMessage({ deps }: Place, { spaceId, authorId }: { spaceId: string; authorId: string }) {
  const em = deps.orm.em.fork()
  const [channel] = await em.execute(
    "insert into channels (id, space_id, name) values (next_snowflake(), ?, 'general') returning id",
    [spaceId],
  )
  await em.execute("insert into messages (id, channel_id, author_id, content) values (next_snowflake(), ?, ?, 'hi')", [
    (channel as { id: string }).id,
    authorId,
  ])
}
