import { openMigratedDatabase, insertUser } from '@gatehouse/test-kit'
import type { MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { evictDeadNodes } from '../src/presence/dead-nodes.ts'
import { timings } from '../src/policy.ts'
import { createPresenceStore, type PresenceChange, type PresenceStore } from '../src/presence/presence-store.ts'

const nodeId = '00000000-0000-4000-8000-00000000000a'
const otherNodeId = '00000000-0000-4000-8000-00000000000b'

describe('a commit of presence whose reply was lost', () => {
  let database: Awaited<ReturnType<typeof openMigratedDatabase>>
  let orm: MikroORM
  let store: PresenceStore

  before(async () => {
    database = await openMigratedDatabase({ connections: 4 })
    orm = database.orm
    store = createPresenceStore({ orm, timings })
  })
  beforeEach(async () => {
    await orm.em.fork().execute('delete from presences; delete from session_nodes')
    await orm.em.fork().execute('insert into session_nodes (id) values (?), (?)', [nodeId, otherNodeId])
  })
  after(() => database[Symbol.asyncDispose]())

  const write = (users: { online?: string[]; offline?: string[]; unconfirmed?: string[] }, id = nodeId) =>
    store.transaction(async (transaction) => {
      const all = { online: [], offline: [], unconfirmed: [], ...users }
      await transaction.lockUsers([...all.online, ...all.offline])
      return await transaction.write(id, all)
    })
  const build = async () => (await insertUser({ orm })).id
  const statusOf = async (userId: string) =>
    (await orm.em.fork().execute<{ status: string }[]>('select status from users where id = ?', [userId]))[0]?.status

  it('of a user who came is published by the next write, with a newer version', async () => {
    const [user, other] = [await build(), await build()]
    const lost = await write({ online: [user, other] })

    const again = await write({ online: [user, other], unconfirmed: [user] })

    expect(again.map(withoutVersion)).to.deep.equal([{ userId: user, status: 'online' }])
    expect(again[0]!.version).to.be.above(Math.max(...lost.map(({ version }) => version)))
  })

  it('of a user who left is published by the next write, once, also where it was rolled back', async () => {
    const [committed, rolledBack] = [await build(), await build()]
    await write({ online: [committed, rolledBack] })
    await write({ offline: [committed] })

    const users = [committed, rolledBack]
    const again = await write({ offline: users, unconfirmed: users })

    expect(again.map(withoutVersion)).to.have.deep.members(users.map((userId) => ({ userId, status: 'offline' })))
    expect(again).to.have.length(2)
  })

  it('of a user who is on another node too is published as online', async () => {
    const user = await build()
    await write({ online: [user] })
    const elsewhere = await write({ online: [user] }, otherNodeId)

    const again = await write({ offline: [user], unconfirmed: [user] })

    expect(elsewhere).to.deep.equal([])
    expect(again.map(withoutVersion)).to.deep.equal([{ userId: user, status: 'online' }])
    expect(await statusOf(user)).to.equal('online')
  })

  it('says nothing of users without one', async () => {
    const [coming, leaving, staying] = [await build(), await build(), await build()]
    await write({ online: [leaving, staying] })

    const changes = await write({ online: [coming, staying], offline: [leaving], unconfirmed: [] })

    expect(changes.map(withoutVersion)).to.deep.equal([
      { userId: coming, status: 'online' },
      { userId: leaving, status: 'offline' },
    ])
  })

  it('of an eviction is published with the next look for dead nodes, except for users who are locked until then', async () => {
    const [user, locked] = [await build(), await build()]
    await write({ online: [user, locked] })
    await orm.em.fork().execute(`update session_nodes set seen_at = '-infinity' where id = ?`, [nodeId])
    const evicting = openEvictions()

    const error = await evicting.evict(losingCommits(orm)).catch((thrown: Error) => thrown.message)
    expect([error, await statusOf(user), evicting.published]).to.deep.equal(['connection lost', 'offline', []])
    await orm.em.fork().transactional(async (em) => {
      await em.execute('select from users where id = ? for update', [locked])
      await evicting.evict(orm)
      expect(evicting.published.map(withoutVersion)).to.deep.equal([{ userId: user, status: 'offline' }])
    })
    await evicting.evict(orm)
    await evicting.evict(orm)

    expect(evicting.published.map(withoutVersion)).to.deep.equal(
      [user, locked].map((userId) => ({ userId, status: 'offline' })),
    )
    expect(evicting.published[0]!.version).to.be.above(0)
  })
})

function openEvictions() {
  const published: PresenceChange[] = []
  const unconfirmed = new Set<string>()
  const broadcaster = { publish: (changes: readonly PresenceChange[]) => void published.push(...changes) }
  const sessionMetrics = { nodesEvicted: { inc() {} } }
  type EvictionDeps = Parameters<typeof evictDeadNodes>[0]
  return {
    published,
    evict: (orm: MikroORM) =>
      evictDeadNodes({ orm, broadcaster, sessionMetrics } as unknown as EvictionDeps, unconfirmed),
  }
}

/** Its transactions are committed, and the connection breaks before the reply. */
function losingCommits(orm: MikroORM): MikroORM {
  const fork = () => {
    const em = orm.em.fork()
    const transactional = async (work: Parameters<typeof em.transactional>[0]) => {
      await em.transactional(work)
      throw new Error('connection lost')
    }
    return { transactional }
  }
  return { em: { fork }, config: orm.config } as unknown as MikroORM
}

const withoutVersion = ({ userId, status }: PresenceChange) => ({ userId, status })
