import { Peer } from '@gatehouse/domain'
import { insertUser } from '@gatehouse/test-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { enqueueProfile } from '../src/relay/deliver-profiles.ts'
import { policy } from '../src/policy.ts'
import { listChangedProfiles } from '../src/relay/native-profiles.ts'
import { buildPeer, sendAsPeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

type Event = { profileUpdate: { username: string } }
type Page = { events: Event[]; hasMore: boolean; checkpoint: number; checkpointId?: string }

describe('profiles of our users', () => {
  let instance: TestInstance
  beforeEach(async () => (instance = await startTestInstance('a')))
  afterEach(() => instance[Symbol.asyncDispose]())

  const execute = async (sql: string, parameters: unknown[] = []) =>
    await instance.deps.orm.em.fork().execute<Record<string, unknown>[]>(sql, parameters)
  const buildRegistry = async (userId: string, origins: readonly string[]) => {
    const entries = origins.map((origin) => ({ origin, status: 'disconnected', addedAt: 1 }))
    const sql = 'insert into federation_registries (user_id, entries, updated_at) values (?, ?, 1)'
    await execute(sql, [userId, JSON.stringify(entries)])
  }
  const queued = async () =>
    (await execute('select p.host from federation_deliveries d join peers p on p.id = d.peer_id order by p.host')).map(
      ({ host }) => host,
    )

  /** Contract: 7, Profiles. */
  it('go to the peers that the list of instances or the registry names, and to no other', async () => {
    for (const host of ['listed.example', 'registered.example', 'other.example']) await buildPeer(instance, { host })
    const user = await insertUser(instance.deps, {
      replicatedInstances: [{ origin: 'https://listed.example', username: 'x' }],
    })
    await buildRegistry(user.id, ['https://Registered.example:443/', 'https://no-peer.example', 'not an origin'])

    expect(await enqueueProfile(instance.deps, user.id)).to.equal(2)
    expect(await queued()).to.deep.equal(['listed.example', 'registered.example'])
  })

  it('wait for a peer that is not active, unless it was revoked or rejected', async () => {
    const waiting = ['pending', 'awaiting_approval', 'unreachable', 'needs_attention'] as const
    const over = ['rejected', 'revoked'] as const
    for (const status of [...waiting, ...over]) {
      await buildPeer(instance, { host: `${status.replace('_', '-')}.example`, status })
    }
    const origins = [...waiting, ...over].map((status) => `https://${status.replace('_', '-')}.example`)
    const user = await insertUser(instance.deps, {
      replicatedInstances: origins.map((origin) => ({ origin, username: 'x' })),
    })

    await enqueueProfile(instance.deps, user.id)

    expect(await queued()).to.deep.equal([
      'awaiting-approval.example',
      'needs-attention.example',
      'pending.example',
      'unreachable.example',
    ])
  })

  describe('that a peer asks for', () => {
    const peer = { origin: 'https://nova.example', host: 'nova.example', secret: 'a'.repeat(64) }
    beforeEach(async () => void (await buildPeer(instance, peer)))

    const ask = (body: object) =>
      sendAsPeer(instance, ['POST', '/api/federation/sync', { contextType: 'profile', ...body }], peer)
    const sync = async (body: object): Promise<Page> => {
      const answer = await ask(body)
      expect(answer.status).to.equal(200)
      return answer.body as Page
    }
    const readAll = async (limit: number) => {
      const pages: string[][] = []
      let page: Page = { events: [], hasMore: true, checkpoint: 0 }
      while (page.hasMore) {
        page = await sync({ sinceTimestamp: page.checkpoint, limit })
        pages.push(page.events.map(({ profileUpdate }) => profileUpdate.username))
      }
      return pages
    }
    const build = (username: string, profileUpdatedAt: number, origin = peer.origin) =>
      insertUser(instance.deps, { username, profileUpdatedAt, replicatedInstances: [{ origin, username: 'x' }] })

    it('come page by page in the order of their changes, those of one millisecond on one page', async () => {
      for (const [name, at] of Object.entries({ c: 30, a: 10, b1: 20, b2: 20, b3: 20, d: 40 })) await build(name, at)

      expect(await readAll(2)).to.deep.equal([
        ['a', 'b1', 'b2', 'b3'],
        ['c', 'd'],
      ])
      expect(await readAll(1)).to.deep.equal([['a'], ['b1', 'b2', 'b3'], ['c'], ['d']])
      expect(await readAll(500)).to.deep.equal([['a', 'b1', 'b2', 'b3', 'c', 'd']])
    })

    it('come strictly after a time and an id, and name those of the last one', async () => {
      const ids = []
      for (const [name, at] of Object.entries({ a: 10, b1: 20, b2: 20, b3: 20, c: 30 })) {
        ids.push((await build(name, at)).id)
      }
      const pages: unknown[] = []
      let page: Page = { events: [], hasMore: true, checkpoint: 20, checkpointId: ids[1]! }
      while (page.hasMore) {
        page = await sync({ sinceTimestamp: page.checkpoint, afterId: page.checkpointId, limit: 1 })
        pages.push([page.events[0]?.profileUpdate.username, page.checkpoint, page.checkpointId])
      }
      const end = await sync({ sinceTimestamp: 30, afterId: ids[4], limit: 1 })
      const dms = await sync({ sinceTimestamp: 7, limit: 1, contextType: 'dm' })

      expect(pages).to.deep.equal([
        ['b2', 20, ids[2]],
        ['b3', 20, ids[3]],
        ['c', 30, ids[4]],
      ])
      expect(end).to.deep.equal({ events: [], hasMore: false, checkpoint: 30, checkpointId: ids[4] })
      expect(dms).to.deep.equal({ events: [], hasMore: false, checkpoint: 7 })
    })

    it('are a hundred where no limit is named, after whatever time and id a server may name', async () => {
      await execute(
        `insert into users (id, username, password_hash, replicated_instances, profile_updated_at)
         select next_snowflake(), 'some' || n, '!', '[{"origin":"https://nova.example","username":"x"}]', n
         from generate_series(1, 101) n`,
      )

      const first = await sync({ sinceTimestamp: -120_000 })
      const rest = await sync({ sinceTimestamp: 100, afterId: '9223372036854775807' })
      const refused = [{ limit: 0 }, { limit: 501 }, { afterId: '9223372036854775808' }, { sinceTimestamp: -1e300 }]
      const statuses: number[] = []
      for (const wrong of refused) statuses.push((await ask({ sinceTimestamp: 0, ...wrong })).status)

      expect([first.events.length, first.hasMore, first.checkpoint]).to.deep.equal([100, true, 100])
      expect([rest.events.length, rest.hasMore, rest.checkpoint]).to.deep.equal([1, false, 101])
      expect(statuses).to.deep.equal([400, 400, 400, 400])
    })

    it('make no page without end where thousands share a millisecond', async () => {
      await execute(
        `insert into users (id, username, password_hash, replicated_instances, profile_updated_at)
         select next_snowflake(), 'many' || n, '!', '[{"origin":"https://nova.example","username":"x"}]', 10
         from generate_series(1, 1000) n`,
      )

      const page = await sync({ sinceTimestamp: 0, limit: 1 })
      const { sinceTimestamp, afterId } = { sinceTimestamp: page.checkpoint, afterId: page.checkpointId }
      const next = await sync({ sinceTimestamp, afterId, limit: 500 })

      expect([page.events.length, page.hasMore]).to.deep.equal([1 + policy.syncSharedMax, true])
      expect([next.events.length, next.hasMore]).to.deep.equal([499, false])
    })

    it('are those of the lists as they are now', async () => {
      const { id } = await build('erin', 10)
      const steps: [string, unknown[]][] = [
        ["update users set replicated_instances = '[]'", []],
        ["insert into federation_registries (user_id, entries, updated_at) values (?, '[]', 1)", [id]],
        ['update federation_registries set entries = ?', [JSON.stringify([{ origin: peer.origin }])]],
        ['update users set profile_updated_at = 20 where id = ?', [id]],
        ["update users set is_deleted = true, username = '!deleted:1' where id = ?", [id]],
        ['update users set is_deleted = false where id = ?', [id]],
        ['delete from federation_registries', []],
      ]
      const told: unknown[] = [(await sync({ sinceTimestamp: 0, limit: 5 })).checkpoint]
      for (const [sql, parameters] of steps) {
        await execute(sql, parameters)
        told.push((await sync({ sinceTimestamp: 0, limit: 5 })).checkpoint)
      }

      expect(told).to.deep.equal([10, 0, 0, 10, 20, 0, 20, 0])
    })

    it('are those that concern it, behind any number of others', async () => {
      await execute(
        `insert into users (id, username, password_hash, replicated_instances, profile_updated_at)
         select next_snowflake(), 'other' || n, '!', '[{"origin":"https://nova.example:8443","username":"x"}]', n
         from generate_series(1, ?) n`,
        [policy.syncCandidates * 2 + 1],
      )
      await build('erin', 100_000)
      const { id } = await insertUser(instance.deps, { username: 'anna', profileUpdatedAt: 200_000 })
      await buildRegistry(id, ['https://NOVA.example'])
      await build('away', 300_000, 'https://away.example')
      await insertUser(instance.deps, {
        username: 'never',
        replicatedInstances: [{ origin: peer.origin, username: 'x' }],
      })

      expect(await readAll(1)).to.deep.equal([['erin'], ['anna']])
      expect(await sync({ sinceTimestamp: 200_000, limit: 1 })).to.deep.equal({
        events: [],
        hasMore: false,
        checkpoint: 200_000,
      })
    })
  })
})

/** Contract: 7, Sync. Design: invariant 13. */
describe('profiles of fifty thousand users, asked for by a peer', () => {
  let instance: TestInstance
  before(async () => {
    instance = await startTestInstance('a')
    for (const host of ['large.example', 'small.example', 'none.example']) await buildPeer(instance, { host })
    const em = instance.deps.orm.em.fork()
    for (let from = 10; from <= 50_000; from += 5_000) {
      await em.execute(
        `insert into users (id, username, password_hash, profile_updated_at, replicated_instances)
         select n, 'user_' || n, '!', n, case when n % 20000 = 7
           then '[{"origin":"https://small.example","username":"x"}]' else '[{"origin":"https://large.example","username":"x"}]' end
         from generate_series(?::int, ?::int) n`,
        [from, from + 4_999],
      )
    }
    await em.execute('vacuum analyze users')
    await em.execute('vacuum analyze replica_hosts')
  })
  after(() => instance[Symbol.asyncDispose]())

  async function rowsRead(work: (em: EntityManager) => Promise<unknown>): Promise<number> {
    return await instance.deps.orm.em.fork().transactional(async (em) => {
      const readUntil = async () => {
        const [read] = await em.execute<{ rows: string }[]>(
          `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) as rows from pg_stat_xact_user_tables
           where relname in ('users', 'replica_hosts', 'federation_registries')`,
        )
        return Number(read?.rows)
      }
      const before = await readUntil()
      await work(em)
      return (await readUntil()) - before
    })
  }

  const questions: [string, { at: number; id: string | null }, { names: string[]; hasMore: boolean }][] = [
    ['large', { at: 0, id: null }, { names: ['user_10', 'user_11'], hasMore: true }],
    ['large', { at: 40_000, id: '40000' }, { names: ['user_40001', 'user_40002'], hasMore: true }],
    ['large', { at: 50_008, id: '50008' }, { names: ['user_50009'], hasMore: false }],
    ['small', { at: 0, id: null }, { names: ['user_20007', 'user_40007'], hasMore: false }],
    ['none', { at: 0, id: null }, { names: [], hasMore: false }],
  ]
  for (const [name, after, expected] of questions) {
    it(`cost a page: of ${name}.example after ${after.at}`, async () => {
      const { orm } = instance.deps
      const peer = await orm.em.fork().findOneOrFail(Peer, { host: `${name}.example` })
      let found: unknown
      const rows = await rowsRead(async (em) => {
        const { page, hasMore } = await listChangedProfiles(em, peer, { after, limit: 2 })
        found = { names: page.map(({ user }) => user.username), hasMore }
      })

      expect(found).to.deep.equal(expected)
      expect(rows).to.be.below(3 * policy.syncCandidates)
    })
  }

  it('cost all users where the lists themselves are searched', async () => {
    const rows = await rowsRead((em) =>
      em.execute("select id from users where strpos(replicated_instances, 'none.example') > 0 limit 2"),
    )

    expect(rows).to.be.above(49_999)
  })
})
