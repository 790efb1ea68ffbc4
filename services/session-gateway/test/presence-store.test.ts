import { insertUser, openMigratedDatabase } from '@gatehouse/test-kit'
import type { MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { timings } from '../src/policy.ts'
import { evictDeadNodes, markDead } from '../src/presence/maintain-nodes.ts'
import {
  firstSnapshot,
  type ChangesCursor,
  NodeNotRegistered,
  createPresenceStore,
  type PresenceStore,
} from '../src/presence/presence-store.ts'
import { FakePresenceStore } from './fake-presence-store.ts'

const [nodeId, otherNodeId, unknownNodeId] = ['a', 'b', 'c'].map(
  (end) => `00000000-0000-4000-8000-00000000000${end}`,
) as [string, string, string]

const native = { homeUserId: null, homeInstance: null }

type Backing = AsyncDisposable & {
  store: PresenceStore
  buildUser(): Promise<string>
  /** As another node does it that finds this one dead. */
  evict(nodeId: string): Promise<void>
  /** Runs `work` while another transaction has locked the account. */
  locked(userId: string, work: () => Promise<void>): Promise<void>
}

for (const [where, open] of [
  ['PostgreSQL', openSql],
  ['the memory of tests', openFake],
] as const) {
  /** The tests of the reconciler and of the feed rely on the one in memory. */
  describe(`the record of presence in ${where}`, () => {
    let backing: Backing
    let store: PresenceStore

    beforeEach(async () => {
      backing = await open()
      store = backing.store
    })
    afterEach(() => backing[Symbol.asyncDispose]())

    const write = (users: { online?: string[]; offline?: string[] }, id = nodeId) =>
      store.transaction(async (transaction) => {
        const all = { online: [], offline: [], ...users }
        await transaction.lockUsers([...all.online, ...all.offline])
        return (await transaction.write(id, all)).map(({ userId, status }) => [userId, status])
      })
    const snapshot = async () => (await store.readChanges({ since: firstSnapshot, userIds: [], limit: 0 })).snapshot
    const changesSince = async (since: string, userIds: string[] = []) =>
      (await store.readChanges({ since, userIds, limit: 100 })).presences

    it('has a user online from the first node to the last, and gives each change once', async () => {
      const [user, other] = [await backing.buildUser(), await backing.buildUser()]

      expect(await write({ online: [user] })).to.deep.equal([[user, 'online']])
      expect(await write({ online: [user] })).to.deep.equal([])
      expect(await write({ online: [user] }, otherNodeId)).to.deep.equal([])
      expect(await write({ offline: [user] })).to.deep.equal([])
      expect(await write({ offline: [user] })).to.deep.equal([])
      const both = await write({ online: [other], offline: [user] }, otherNodeId)

      expect(both).to.have.deep.members([
        [other, 'online'],
        [user, 'offline'],
      ])
    })

    it('takes no user of a node that is not registered, and lets it remove what it does not have', async () => {
      const user = await backing.buildUser()

      const error = await write({ online: [user] }, unknownNodeId).catch((thrown: unknown) => thrown)

      expect(error).to.be.instanceOf(NodeNotRegistered)
      expect(await write({ offline: [user] }, unknownNodeId)).to.deep.equal([])
    })

    it('skips accounts that are locked, which exist, and leaves nothing of a transaction without a write', async () => {
      const [user, lockedUser] = [await backing.buildUser(), await backing.buildUser()]
      const since = await snapshot()

      await backing.locked(lockedUser, () =>
        store.transaction(async ({ lockUsers, findExisting }) => {
          expect([...(await lockUsers([user, lockedUser, '404'])).keys()]).to.deep.equal([user])
          expect(await findExisting([lockedUser, '404'])).to.deep.equal([lockedUser])
        }),
      )

      expect(await changesSince(since)).to.deep.equal([])
      expect(await write({ online: [user, lockedUser] })).to.have.length(2)
    })

    it('takes the users of an evicted node offline, but for those on another one', async () => {
      const [gone, moved] = [await backing.buildUser(), await backing.buildUser()]
      await write({ online: [gone, moved] })
      await write({ online: [moved] }, otherNodeId)
      const since = await snapshot()

      await backing.evict(nodeId)

      const [change, ...others] = await changesSince(since, [moved])
      expect(change).to.deep.include({ userId: gone, status: 'offline' })
      expect(others).to.deep.equal([{ userId: moved, status: 'online', recordedBy: null, ...native }])
      const error = await write({ online: [gone] }).catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(NodeNotRegistered)
    })

    it('shows who has changed since a snapshot, each once and as it is now, with the node that wrote it', async () => {
      const [before, back, online] = [await backing.buildUser(), await backing.buildUser(), await backing.buildUser()]
      await write({ online: [before] })
      const since = await snapshot()

      await write({ online: [back] })
      await write({ online: [online] })
      const page = await store.readChanges({ since, userIds: [before, '404'], limit: 100 })
      await write({ offline: [back] })
      await write({ online: [back] }, otherNodeId)

      const asked = { userId: before, status: 'online', recordedBy: null, ...native }
      expect(page.presences).to.deep.equal([
        { userId: back, status: 'online', recordedBy: nodeId, ...native },
        { userId: online, status: 'online', recordedBy: nodeId, ...native },
        asked,
      ])
      const again = { userId: back, status: 'online', recordedBy: otherNodeId, ...native }
      expect(await changesSince(page.snapshot)).to.deep.equal([again])
      expect((await changesSince(since)).at(-1)).to.deep.equal(again)
      expect(await changesSince(since)).to.have.length(2)
    })

    it('records again those whom it has online on this node, and nobody else', async () => {
      const [here, elsewhere, gone] = [await backing.buildUser(), await backing.buildUser(), await backing.buildUser()]
      await write({ online: [here, gone] })
      await write({ offline: [gone] })
      await write({ online: [elsewhere] }, otherNodeId)
      const since = await snapshot()

      const again = await store.recordAgain([here, elsewhere, gone, '404'], nodeId)

      expect(again).to.deep.equal([{ userId: here, status: 'online' }])
      expect(await changesSince(since)).to.deep.equal([
        { userId: here, status: 'online', recordedBy: nodeId, ...native },
      ])
    })

    it('shows it in pages, which have no user twice and end', async () => {
      const users = await Promise.all(Array.from({ length: 5 }, () => backing.buildUser()))
      const since = await snapshot()
      for (const batch of [users.slice(0, 4), users.slice(4)]) await write({ online: batch })

      const pages: string[][] = []
      let after: ChangesCursor | undefined
      do {
        const page = await store.readChanges({ since, after, userIds: [], limit: 2 })
        pages.push(page.presences.map(({ userId }) => userId))
        after = page.next
      } while (after)

      expect(pages.map(({ length }) => length)).to.deep.equal([2, 2, 1])
      expect(pages.flat()).to.have.members(users)
    })
  })
}

describe('changes of presence in PostgreSQL', () => {
  let backing: Awaited<ReturnType<typeof openSql>>

  beforeEach(async () => (backing = await openSql()))
  afterEach(() => backing[Symbol.asyncDispose]())

  const snapshot = async () => (await readAll(firstSnapshot, 0)).snapshot
  const readAll = (since: string, limit = 1_000) => backing.store.readChanges({ since, userIds: [], limit })
  const change = (userId: string, status: 'online' | 'offline') =>
    backing.store.transaction(async (transaction) => {
      await transaction.lockUsers([userId])
      await transaction.write(nodeId, { online: [], offline: [], [status]: [userId] })
    })

  it('are read at once beside a transaction that lasts, and its own when it has ended, which has the lower id', async () => {
    const [early, late] = [await backing.buildUser(), await backing.buildUser()]
    const since = await snapshot()
    const lasting = backing.orm.em.fork()
    await lasting.begin()
    await lasting.execute('insert into presence_changes (user_id, node_id) values (?, ?)', [early, nodeId])

    await change(late, 'online')
    const first = await readAll(since)
    await lasting.commit()
    const second = await readAll(first.snapshot)

    expect(first.presences.map(({ userId }) => userId)).to.deep.equal([late])
    // A reader that remembered the highest id would have missed it.
    expect(second.presences.map(({ userId }) => userId)).to.deep.equal([early])
    const ids = await backing.orm.em
      .fork()
      .execute<{ id: string }[]>(
        'select user_id::text as id from presence_changes where user_id in (?, ?) order by changed',
        [early, late],
      )
    expect(ids.map(({ id }) => id)).to.deep.equal([early, late])
  })

  it('are all read, in the end as they are, while sixteen writers change and change again', async () => {
    const users = await Promise.all(Array.from({ length: 16 }, () => backing.buildUser()))
    const seen = new Map<string, string>()
    let since = await snapshot()
    const read = async () => {
      const page = await readAll(since)
      since = page.snapshot
      for (const { userId, status } of page.presences) seen.set(userId, status)
    }

    const isWriting = new AbortController()
    const writing = Promise.all(
      users.map(async (user, place) => {
        for (let round = 0; round < 9 + (place % 2); round += 1)
          await change(user, round % 2 === 0 ? 'online' : 'offline')
      }),
    ).finally(() => isWriting.abort())
    while (!isWriting.signal.aborted) await read()
    await writing
    await read()

    expect(users.map((user) => seen.get(user))).to.deep.equal(
      users.map((_, place) => (place % 2 === 0 ? 'online' : 'offline')),
    )
    expect((await readAll(since)).presences).to.deep.equal([])
  })

  it('of an eviction are read although the reply of its commit was lost', async () => {
    const user = await backing.buildUser()
    await change(user, 'online')
    const since = await snapshot()

    const error = await backing.evict(nodeId, losingCommits(backing.orm)).catch((thrown: Error) => thrown.message)

    expect(error).to.equal('connection lost')
    expect((await readAll(since)).presences).to.deep.equal([
      { userId: user, status: 'offline', recordedBy: otherNodeId, ...native },
    ])
  })
})

async function openFake(): Promise<Backing> {
  const store = new FakePresenceStore()
  for (const id of [nodeId, otherNodeId]) store.rows.set(id, new Set())
  let users = 0
  return {
    store,
    async buildUser() {
      const id = String(++users)
      store.accounts.set(id, { isDeleted: false, passwordChangedAt: null })
      return id
    },
    evict: async (id) => store.evict(id),
    async locked(userId, work) {
      store.locked.add(userId)
      await work()
      store.locked.delete(userId)
    },
    async [Symbol.asyncDispose]() {},
  }
}

async function openSql() {
  const database = await openMigratedDatabase({ connections: 18 })
  const { orm } = database
  await orm.em.fork().execute('insert into session_nodes (id) values (?), (?)', [nodeId, otherNodeId])
  const deps = { feed: { recorded() {} }, node: { id: otherNodeId }, sessionMetrics: { nodesEvicted: { inc() {} } } }
  return {
    orm,
    store: createPresenceStore({ orm, timings }),
    buildUser: async () => (await insertUser({ orm })).id,
    async evict(id: string, through = orm) {
      await markDead({ orm }, 'id = ?', id)
      await evictDeadNodes({ ...deps, orm: through } as unknown as Parameters<typeof evictDeadNodes>[0])
    },
    async locked(userId: string, work: () => Promise<void>) {
      const em = orm.em.fork()
      await em.begin()
      await em.execute('select from users where id = ? for update', [userId])
      await work()
      await em.rollback()
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
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
