import { randomUUID } from 'node:crypto'
import { callerHeader } from '@gatehouse/auth'
import { userDeleted } from '@gatehouse/contracts'
import { UpstreamDeletion, type User } from '@gatehouse/domain'

import { answered, signTestCaller } from '@gatehouse/test-kit'
import type { UpstreamQuestionName } from '@gatehouse/upstreams'
import { expect } from 'chai'
import { startUpstreamDeletions } from '../src/operations/deletion/upstream-deletions.ts'
import { deleteFederatedIdentity } from '../src/operations/federation/delete-federated-identity.ts'
import { buildStub, buildUser, collectEvents, readUser } from './builders.ts'
import { insertRow, rowsOf } from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'
import { readArchive } from './read-archive.ts'

type Answers = Record<string, Partial<Record<UpstreamQuestionName, (asked: never) => object | undefined>>>
const minute = 60_000

describe('Further services that answer questions', () => {
  let identity: TestIdentity
  let answers: Answers
  let asked: { upstream: string; question: string; asked: object }[]
  /** Transactions that waited while an upstream was asked. */
  let transactionsWhileAsked: number

  before(async () => {
    const upstreams = {
      answering: (question: UpstreamQuestionName) =>
        Object.keys(answers).filter((name) => answers[name]![question] !== undefined),
      ask: async (upstream: string, question: UpstreamQuestionName, about: object) => {
        asked.push({ upstream, question, asked: about })
        if (question === 'ownedSpaces') transactionsWhileAsked += await countTransactions()
        return answers[upstream]![question]?.(about as never) as never
      },
    }
    identity = await startTestIdentity({ overrides: { upstreams } })
  })
  after(() => identity[Symbol.asyncDispose]())
  beforeEach(async () => {
    await identity.deps.orm.em.fork().nativeDelete(UpstreamDeletion, {})
    ;[answers, asked, transactionsWhileAsked] = [{}, [], 0]
  })

  const countTransactions = async () =>
    (
      await rowsOf(
        identity,
        `select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
      )
    ).length
  const readExport = async ({ id: userId, username, isAdmin }: User) => {
    const now = identity.clock.now()
    const account = { userId, username, isAdmin, tokenIssuedAt: Math.floor(now / 1000) }
    const response = await fetch(`${identity.url}/api/users/@me/export`, {
      method: 'POST',
      headers: {
        [callerHeader]: signTestCaller('identity', { address: '127.0.0.1', account }, now),
        'content-type': 'application/json',
      },
      body: JSON.stringify({ password: testPassword }),
    })
    return await readArchive(Buffer.from(await response.arrayBuffer()))
  }
  const deleteSelf = (as: User) =>
    identity.call('DELETE', '/api/users/@me', { as, body: { username: as.username, password: testPassword } })
  const open = async () => {
    const as = await buildUser(identity, { isAdmin: true })
    const { body } = await answered(identity.call('GET', '/api/admin/upstream-deletions', { as }))
    return body['deletions'] as { userId: string; upstream: string; error: string | null; attempts: number }[]
  }
  const wait = async (ms: number) => {
    identity.clock.advance(ms)
    await using task = startUpstreamDeletions(identity.deps)
    await task.runNow()
  }

  const ownedSpaces = [{ id: 'hall', name: 'Hall' }]

  /** Contract: 5, Deletions at further services. */
  for (const path of ['the owner', 'an admin', 'the home instance'] as const) {
    it(`keeps an account that owns spaces there, whose deletion ${path} wants, and asks before it locks anything`, async () => {
      const home = path === 'the home instance' ? { homeInstance: 'home.example', homeUserId: '77' } : {}
      const user = await buildUser(identity, home)
      const admin = await buildUser(identity, { isAdmin: true })
      const attempt = async () => {
        if (path === 'the owner') return await deleteSelf(user)
        if (path === 'an admin') return await identity.call('DELETE', `/api/admin/users/${user.id}`, { as: admin })
        const identityOf = { homeInstance: 'home.example', homeUserId: '77', mode: 'full' as const }
        const done = { status: 200, body: {} as Record<string, unknown> }
        return await deleteFederatedIdentity(identity.deps, identityOf).then(
          () => done,
          ({ status, code, fields }: { status: number; code: string; fields: object }) => ({
            status,
            body: { code, ...fields },
          }),
        )
      }

      answers = { chat: { ownedSpaces: () => ({ ownedSpaces }) }, voice: { ownedSpaces: () => undefined } }
      const owning = await attempt()
      answers = { chat: { ownedSpaces: () => ({ ownedSpaces: [] }) }, voice: { ownedSpaces: () => undefined } }
      const silent = await attempt()
      const kept = await readUser(identity, user.id)
      answers = { chat: { ownedSpaces: () => ({ ownedSpaces: [] }) } }
      const free = await attempt()

      const byPeer = path === 'the home instance'
      const refusal = byPeer ? 'owns_spaces' : 'account_deletion_blocked_owned_spaces'
      expect(owning.status).to.equal(byPeer ? 409 : 400)
      expect(owning.body).to.deep.include({ code: refusal, ownedSpaces })
      expect(silent.status).to.equal(503)
      expect(silent.body).to.include({ code: 'upstream_unavailable', upstream: 'voice' })
      expect(kept).to.include({ isDeleted: false, username: user.username })
      expect(free.status).to.equal(200)
      expect((await readUser(identity, user.id)).isDeleted).to.equal(true)
      expect(asked.map((one) => one.asked)).to.deep.equal(Array(5).fill({ userId: user.id }))
      expect(transactionsWhileAsked).to.equal(0)
    })
  }

  /** Contract: 5, Deletions at further services. */
  it('are not asked for a stub', async () => {
    const admin = await buildUser(identity, { isAdmin: true })
    const stub = await buildStub(identity, { username: 'pat@home.example', homeUserId: '78' })
    answers = { chat: { ownedSpaces: () => undefined } }

    const { status } = await identity.call('DELETE', `/api/admin/users/${stub.id}`, { as: admin })

    expect([status, asked]).to.deep.equal([200, []])
    expect((await readUser(identity, stub.id)).isDeleted).to.equal(true)
  })

  /** Contract: 6, presence_update. */
  it('tells of a deletion whom a service names as the audience and who is online, with or without an answer', async () => {
    const [online, offline] = [await buildUser(identity), await buildUser(identity)]
    const nodeId = randomUUID()
    await insertRow(identity, 'session_nodes', { id: nodeId })
    await insertRow(identity, 'presences', { user_id: online.id, node_id: nodeId })
    await using events = await collectEvents(identity, [userDeleted])
    const audience = [online.id, offline.id, '9223372036854775807']
    const audienceOf = async (user: User) => {
      await answered(deleteSelf(user))
      return (await events.ofUser(user.id, 1))[0]!.payload
    }

    answers = { chat: { audience: ({ users }: { users: string[] }) => ({ groups: [{ users, audience }] }) } }
    const known = await audienceOf(await buildUser(identity))
    answers = { chat: { audience: () => ({ groups: [{ users: ['1'], audience }] }) } }
    const ofAnother = await audienceOf(await buildUser(identity))
    answers = { chat: { audience: () => undefined } }
    const silent = await audienceOf(await buildUser(identity))

    const audiences = [known, ofAnother, silent].map((payload) => (payload as { audience: string[] }).audience)
    expect(audiences).to.deep.equal([[online.id], [], []])
  })

  /** Contract: 5, Deletions at further services. */
  it('asks each service to delete until it has, by one of many replicas, and shows admins what is open', async () => {
    const user = await buildUser(identity)
    let isDone = false
    answers = { chat: { deletion: () => ({ done: isDone }) }, voice: { deletion: () => undefined } }
    await answered(deleteSelf(user))
    const fresh = await open()

    await Promise.all([wait(0), wait(0), wait(0)])
    const first = await open()
    const askedAtFirst = asked.filter(({ question }) => question === 'deletion')
    await wait(minute - 1)
    const early = asked.length
    isDone = true
    await wait(2)
    const second = await open()
    answers = { chat: answers['chat']! }
    const left = await open()
    await wait(7 * 60 * minute)
    answers = { voice: { deletion: () => ({ done: true }) } }
    await wait(0)

    expect(fresh.map(({ userId }) => userId)).to.deep.equal([user.id, user.id])
    expect(askedAtFirst.map(({ upstream }) => upstream)).to.have.members(['chat', 'voice'])
    expect(askedAtFirst[0]!.asked).to.deep.equal({ userId: user.id, mode: 'full' })
    expect(Object.fromEntries(first.map(({ upstream, error }) => [upstream, error]))).to.deep.equal({
      chat: 'not_done',
      voice: 'no_answer',
    })
    expect(early).to.equal(asked.indexOf(askedAtFirst[1]!) + 1)
    expect(second.map(({ upstream, attempts }) => [upstream, attempts])).to.deep.equal([['voice', 2]])
    expect(left.map(({ error }) => error)).to.deep.equal(['not_declared'])
    expect(await open()).to.deep.equal([])
  })

  it('goes on with one service while another answers none of many deletions', async () => {
    const ids = await Promise.all(Array.from({ length: 70 }, async () => (await buildUser(identity)).id))
    await insertDeletions(ids)
    answers = { chat: { deletion: () => ({ done: true }) }, voice: { deletion: () => undefined } }

    await wait(0)

    const counts = Object.groupBy(asked, ({ upstream }) => upstream)
    const idsOf = (name: string) => counts[name]!.map((one) => (one.asked as { userId: string }).userId)
    expect(idsOf('chat')).to.have.members(ids)
    expect(idsOf('voice')).to.have.length.at.least(32)
    expect(new Set(idsOf('voice')).size).to.equal(idsOf('voice').length)
    expect((await open()).filter(({ upstream }) => upstream === 'chat')).to.deep.equal([])
  })

  const insertDeletions = async (ids: readonly string[]) => {
    const at = new Date(identity.clock.now())
    const rows = ids.flatMap((userId) =>
      ['chat', 'voice'].map((upstream) => ({
        userId,
        upstream,
        mode: 'full' as const,
        givenAt: at,
        nextAttemptAt: at,
      })),
    )
    await identity.deps.orm.em.fork().insertMany(UpstreamDeletion, rows)
  }

  /** Contract: 3, export. */
  it('adds the pages of each service to the export, and a file that says where they are not complete', async () => {
    const user = await buildUser(identity)
    const page = (after?: string) => (after === undefined ? { rows: [{ n: 1 }], next: 'b' } : { rows: [{ n: 2 }] })
    answers = {
      chat: { export: ({ after }: { after?: string }) => page(after) },
      broken: { export: ({ after }: { after?: string }) => (after === undefined ? page() : undefined) },
      silent: { export: () => undefined },
      endless: { export: () => ({ rows: [], next: 'again' }) },
    }

    const files = await readExport(user)

    const ofServices = [...files].filter(([name]) => name.startsWith('services/'))
    const read = Object.fromEntries(ofServices.map(([name, bytes]) => [name.slice(9), JSON.parse(bytes.toString())]))
    const incomplete = (upstream: string) => ({
      upstream,
      notice: 'This service did not give all of its data. Ask for an export again later.',
    })
    expect(read).to.deep.equal({
      'chat.json': [{ n: 1 }, { n: 2 }],
      'broken.json': [{ n: 1 }],
      'broken.incomplete.json': incomplete('broken'),
      'silent.json': [],
      'silent.incomplete.json': incomplete('silent'),
      'endless.json': [],
      'endless.incomplete.json': incomplete('endless'),
    })
    expect(asked.filter(({ upstream }) => upstream === 'endless')).to.have.length(512)
  })
})
