import { mkdir, writeFile } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { once } from 'node:events'
import { callerHeader } from '@gatehouse/auth'
import { nextId } from '@gatehouse/database'
import { Invite, Upload, type User } from '@gatehouse/domain'
import { eventually, signTestCaller } from '@gatehouse/test-kit'
import type { RequiredEntityData } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { policy } from '../src/policy.ts'
import { buildUser, readUser } from './builders.ts'
import {
  buildChannel,
  buildDirectMessage,
  buildDirectMessages,
  buildMessage,
  buildRow,
  buildSpace,
  insertMany,
  insertRow,
} from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { buildPasswordless, buildTicket } from './provider-builders.ts'
import { testPassword } from './quick-hasher.ts'
import { readArchive } from './read-archive.ts'

describe('POST /api/users/@me/export', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity({ connections: 4 })))
  after(async () => await identity[Symbol.asyncDispose]())

  /** A response whose body is not read yet. */
  async function ask(as: User, body: object = { password: testPassword }) {
    const now = identity.clock.now()
    const account = { userId: as.id, username: as.username, isAdmin: as.isAdmin, tokenIssuedAt: Math.floor(now / 1000) }
    const sent = request(`${identity.url}/api/users/@me/export`, {
      method: 'POST',
      headers: {
        [callerHeader]: signTestCaller('identity', { address: '127.0.0.1', account }, now),
        'content-type': 'application/json',
      },
    })
    sent.end(JSON.stringify(body))
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return response
  }

  type Files = Record<string, unknown>
  const firstOf = (files: Files, name: string) => (files[name] as object[])[0]!

  async function readFiles(as: User): Promise<Files> {
    const response = await ask(as)
    const chunks: Buffer[] = []
    for await (const part of response) chunks.push(part as Buffer)
    expect(response.statusCode).to.equal(200)
    const files = await readArchive(Buffer.concat(chunks))
    return Object.fromEntries(
      [...files].map(([name, bytes]) => [
        name,
        name.endsWith('.json') ? JSON.parse(bytes.toString()) : bytes.toString(),
      ]),
    )
  }

  async function keepFile(filename: string, content: string): Promise<void> {
    await mkdir(identity.config.uploadDir, { recursive: true })
    await writeFile(join(identity.config.uploadDir, filename), content)
  }

  async function makeInvite(user: User, byMember = false): Promise<Invite> {
    const em = identity.deps.orm.em.fork()
    const id = await nextId(em)
    const given = { id, token: `token-${id}`, name: 'for a friend', createdBy: user.id, createdAt: new Date(1_000) }
    const invite = em.create(Invite, { ...given, byMember } as RequiredEntityData<Invite>)
    await em.persist(invite).flush()
    return invite
  }

  /** `count` messages of an account in a channel of a space of its own. */
  async function writeMessages(author: User, count: number): Promise<void> {
    const channelId = await buildChannel(identity, await buildSpace(identity, author))
    await insertMany(
      identity,
      `insert into messages (id, channel_id, author_id, content)
       select next_snowflake(), ?, ?, repeat(md5(random()::text), 30) from generate_series(1, ?)`,
      [channelId, author.id, count],
    )
  }

  /** Contract: 3, Export. */
  it('holds what belongs to the account, and of messages only those that the account wrote', async () => {
    const [user, friend] = [await buildUser(identity, { displayName: 'May' }), await buildUser(identity)]
    const stranger = await buildUser(identity)
    await insertRow(identity, 'friendships', { user_id: friend.id, friend_id: user.id })
    await buildRow(identity, 'friend_requests', { from_user_id: stranger.id, to_user_id: user.id })
    const spaceId = await buildSpace(identity, friend, 'a garden')
    await insertRow(identity, 'space_members', { space_id: spaceId, user_id: user.id })
    const channelId = await buildChannel(identity, spaceId)
    const own = await buildMessage(identity, { channelId, author: user, filename: 'kept.png' })
    await buildMessage(identity, { channelId, author: friend, filename: 'other.png' })
    const direct = await buildDirectMessages(identity, { members: [user, friend] })
    const sent = await buildDirectMessage(identity, { channelId: direct, author: user, filename: '../escape.png' })
    await buildDirectMessage(identity, { channelId: direct, author: friend })
    const upload = {
      userId: user.id,
      filename: 'picture.webp',
      size: 7,
      mimetype: 'image/webp',
      createdAt: new Date(5),
    }
    await identity.deps.orm.em.fork().insert(Upload, upload)
    for (const [name, content] of [
      ['picture.webp', 'picture'],
      ['kept.png', 'kept'],
      ['other.png', 'other'],
    ] as const) {
      await keepFile(name, content)
    }

    const files = await readFiles(user)

    const names = [
      'account',
      'invites',
      'second-factor',
      'passkeys',
      'linked-identities',
      'email',
      'applications',
      'sign-ins',
      'deletion-orders',
      'uploads',
      'friends',
      'friend-requests',
      'spaces',
      'messages',
      'direct-messages',
    ]
    expect(Object.keys(files)).to.deep.equal([
      ...names.map((name) => `${name}.json`),
      'uploads/picture.webp',
      `attachments/${own}/kept.png`,
    ])
    const account = files['account.json'] as { user: object }
    expect(account).to.deep.include({ instance: 'https://here.example', exportedAt: identity.clock.now() })
    expect(account.user).to.include({ id: user.id, displayName: 'May', showActivity: true })
    expect(JSON.stringify(files)).to.not.include(user.passwordHash)
    expect(files['uploads.json']).to.deep.equal([
      { filename: 'picture.webp', size: 7, mimetype: 'image/webp', createdAt: 5, inUse: false },
    ])
    expect(files['friends.json']).to.have.length(1).and.have.nested.property('[0].username', friend.username)
    expect(files['friend-requests.json']).to.have.length(1).and.have.nested.property('[0].direction', 'received')
    expect(files['spaces.json']).to.have.length(1)
    expect(firstOf(files, 'spaces.json')).to.include({ name: 'a garden', isOwner: false })
    expect(files['messages.json']).to.have.length(1)
    expect(firstOf(files, 'messages.json')).to.deep.include({
      id: own,
      spaceId,
      content: 'hello',
      attachments: ['kept.png'],
    })
    expect(files['direct-messages.json']).to.have.length(1).and.have.nested.property('[0].id', sent)
    expect([files['uploads/picture.webp'], files[`attachments/${own}/kept.png`]]).to.deep.equal(['picture', 'kept'])
  })

  it('shows the tokens of the invites that one made while one is an admin, and no longer after that', async () => {
    const admin = await buildUser(identity, { isAdmin: true })
    const former = await buildUser(identity)
    const [shown, hidden] = [await makeInvite(admin), await makeInvite(former)]

    const [ofAdmin, ofFormer] = [await readFiles(admin), await readFiles(former)]

    expect(firstOf(ofAdmin, 'invites.json')).to.include({ id: shown.id, token: shown.token })
    expect(firstOf(ofFormer, 'invites.json')).to.include({ id: hidden.id, status: 'active' })
    expect(JSON.stringify(ofFormer)).to.not.include(hidden.token)
  })

  it('shows the tokens of the invites that one made as a member', async () => {
    const member = await buildUser(identity)
    const { id, token } = await makeInvite(member, true)

    expect(firstOf(await readFiles(member), 'invites.json')).to.include({ id, token })
  })

  it('wants the password of a local account: missing 400, wrong 403; of a federated one nothing', async () => {
    const user = await buildUser(identity)
    const federated = await buildUser(identity, { username: 'ann@home.example', homeInstance: 'home.example' })
    const statusOf = async (as: User, body: object) => {
      const response = await ask(as, body)
      response.resume()
      await once(response, 'close')
      return response.statusCode
    }

    for (const body of [{}, { password: '' }, { password: 7 }]) expect(await statusOf(user, body)).to.equal(400)
    expect(await statusOf(user, { password: 'wrong' })).to.equal(403)
    expect(await statusOf(federated, {})).to.equal(200)
    expect((await identity.call('POST', '/api/users/@me/export')).status).to.equal(401)
  })

  it('is refused with 503 and Retry-After while as many run as may at once, and the next one is not', async () => {
    const user = await buildUser(identity)
    const { exportQuota } = identity.deps
    const others = Array.from({ length: policy.exportsAtOnce }, (_, index) => `other ${index}`)
    const answer = async () => {
      const { statusCode, headers } = (await ask(user)).resume()
      return [statusCode, headers['retry-after']]
    }

    for (const other of others) exportQuota.take(other)
    const refused = await answer()
    for (const other of others) exportQuota.release(other)

    expect(refused).to.deep.equal([503, '60'])
    expect(await answer()).to.deep.equal([200, undefined])
  })

  it('holds every message of some thousands, page after page', async () => {
    const user = await buildUser(identity)
    await writeMessages(user, 3_001)

    const messages = (await readFiles(user))['messages.json'] as { id: string }[]

    expect(new Set(messages.map(({ id }) => id)).size).to.equal(3_001)
  })

  it('revocation is judged again at each part: the stream ends when the token is revoked on the way', async () => {
    const user = await buildUser(identity)
    await writeMessages(user, 40_000)
    const response = await ask(user)
    await once(response, 'readable')

    const em = identity.deps.orm.em.fork()
    await em.execute('update users set password_changed_at = ? where id = ?', [identity.clock.now() + 1_000, user.id])
    const received = await receiveUntilCut(response)

    expect(received.isWhole).to.equal(false)
    expect(await failureOf(readArchive(received.bytes))).to.be.an('error')
    expect(identity.logLines.filter(({ level }) => Number(level) >= 50)).to.deep.equal([])
  })

  it('is 401 where the token is revoked before the first byte', async () => {
    const { user, linked } = await buildPasswordless(identity)
    const ticket = await buildTicket(identity, linked)
    const em = identity.deps.orm.em.fork()
    await em.execute(`create function revoke_tokens() returns trigger language plpgsql security definer as $$
      begin
        update users set password_changed_at = ${identity.clock.now() + 1_000} where id = old.user_id;
        return null;
      end $$;
      create trigger revoke_tokens after delete on provider_tickets for each row execute function revoke_tokens();`)

    const response = await ask(user, { ticket }).finally(() => em.execute('drop function revoke_tokens cascade'))
    response.resume()

    expect([response.statusCode, response.headers['content-disposition']]).to.deep.equal([401, undefined])
    expect(identity.deps.exportQuota.total()).to.equal(0)
  })

  it('a slow reader holds no database connection or transaction, and one export of an account runs at a time', async () => {
    const user = await buildUser(identity)
    await writeMessages(user, 40_000)
    const slow = await ask(user)
    const again = await ask(user)
    again.resume()

    const busy = `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and (state <> 'idle' or xact_start is not null)`
    await eventually('no statement or transaction of the export is open', async () => {
      return (await identity.deps.orm.em.fork().execute<unknown[]>(busy)).length === 0
    })
    expect(again.statusCode).to.equal(409)
    expect((await identity.call('GET', '/api/users/@me', { as: user })).status).to.equal(200)
    slow.destroy()
    await eventually('the next export runs', async () => {
      const next = await ask(user)
      next.destroy()
      return next.statusCode === 200
    })
    expect((await readUser(identity, user.id)).isDeleted).to.equal(false)
  })
})

async function receiveUntilCut(response: AsyncIterable<Buffer>): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const chunks: Buffer[] = []
  try {
    for await (const part of response) chunks.push(part)
    return { bytes: Buffer.concat(chunks), isWhole: true }
  } catch {
    return { bytes: Buffer.concat(chunks), isWhole: false }
  }
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error: unknown) => error,
  )
}
