import { insertUser } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { enqueueProfile } from '../src/relay/enqueue-profiles.ts'
import { policy } from '../src/policy.ts'
import { buildPeer, sendAsPeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

type Event = { profileUpdate: { username: string } }
type Page = { events: Event[]; hasMore: boolean; checkpoint: number }

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

    const sync = async (body: object): Promise<Page> => {
      const message = ['POST', '/api/federation/sync', { contextType: 'profile', ...body }] as [string, string, object]
      const answer = await sendAsPeer(instance, message, peer)
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
        ...{ events: [], hasMore: false, checkpoint: 200_000 },
      })
    })
  })
})
