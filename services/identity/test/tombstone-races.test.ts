import { expect } from 'chai'
import type { User } from '@gatehouse/domain'
import { deleteAccount } from '../src/operations/deletion/delete-account.ts'
import { buildUser, callerOf, readUser } from './builders.ts'
import {
  buildChannel,
  buildDirectMessage,
  buildDirectMessages,
  buildMessage,
  buildRow,
  buildSpace,
  column,
  insertRow,
  rowsOf,
} from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

describe('Tombstone: concurrent deletions', () => {
  let identity: TestIdentity
  before(async () => {
    identity = await startTestIdentity()
    await slowDown(identity)
  })
  after(async () => await identity[Symbol.asyncDispose]())

  const leave = ({ id, username }: User) =>
    deleteAccount(identity.deps, {
      caller: callerOf(identity, id),
      username,
      password: testPassword,
      address: '127.0.0.1',
    })
  const deadlocks = async () => {
    await identity.deps.orm.em.fork().execute('select pg_stat_force_next_flush()')
    const [row] = await rowsOf(identity, 'select deadlocks from pg_stat_database where datname = current_database()')
    return Number(row!.deadlocks)
  }

  type Pair = [User, User]
  const eachWay = async (pair: Pair, share: (me: User, other: User) => Promise<unknown>) => {
    await share(...pair)
    await share(pair[1], pair[0])
  }

  /** Rows that two tombstones share; each kind alone, because the first that they share makes one wait. */
  const shared: Record<string, (pair: Pair, spaceId: string) => Promise<void>> = {
    friendships: (pair) =>
      eachWay(pair, (me, other) => insertRow(identity, 'friendships', { user_id: me.id, friend_id: other.id })),
    'friend requests': (pair) =>
      eachWay(pair, async (me, other) => {
        for (let index = 0; index < 5; index += 1) {
          await buildRow(identity, 'friend_requests', { from_user_id: me.id, to_user_id: other.id })
        }
      }),
    bans: (pair, spaceId) =>
      eachWay(pair, (me, other) =>
        insertRow(identity, 'bans', { space_id: spaceId, user_id: me.id, banned_by: other.id }),
      ),
    'join requests': (pair, spaceId) =>
      eachWay(pair, (me, other) =>
        buildRow(identity, 'join_requests', { space_id: spaceId, user_id: me.id, decided_by: other.id }),
      ),
    'voice restrictions': (pair, spaceId) =>
      eachWay(pair, (me, other) =>
        insertRow(identity, 'voice_restrictions', { space_id: spaceId, user_id: me.id, moderator_id: other.id }),
      ),
    reactions: async (pair, spaceId) => {
      const channelId = await buildChannel(identity, spaceId)
      await eachWay(pair, async (me) => {
        for (let index = 0; index < 5; index += 1)
          await buildMessage(identity, { channelId, author: me, reactors: pair })
      })
    },
    groups: (pair) =>
      eachWay(pair, async (me, other) => {
        for (let index = 0; index < 3; index += 1) {
          const channelId = await buildDirectMessages(identity, { members: [other, me], owner: me })
          await buildDirectMessage(identity, { channelId, author: me, reactors: pair })
        }
      }),
  }

  for (const [what, share] of Object.entries(shared)) {
    it(`of two users who share ${what} do not deadlock`, async () => {
      const spaceId = await buildSpace(identity, await buildUser(identity))
      const before = await deadlocks()

      for (let round = 0; round < 4; round += 1) {
        const pair: Pair = [await buildUser(identity), await buildUser(identity)]
        await share(pair, spaceId)
        await Promise.all(pair.map(leave))
      }

      expect(await deadlocks()).to.equal(before)
      for (const table of ['friendships', 'friend_requests', 'bans', 'join_requests', 'messages', 'dm_channels']) {
        expect(await column(identity, `select count(*) from ${table}`), table).to.deep.equal(['0'])
      }
    })
  }

  it('transfer a group to the member who stays when the owner and the next owner are deleted at once', async () => {
    const staying = await buildUser(identity)
    for (let round = 0; round < 10; round += 1) {
      const [owner, next] = [await buildUser(identity), await buildUser(identity)]
      const channelId = await buildDirectMessages(identity, { members: [owner, next, staying], owner })

      await Promise.all([owner, next].map(leave))

      const owners = await column(identity, 'select owner_id from dm_channels where id = ?', [channelId])
      expect(owners).to.deep.equal([staying.id])
    }
  })

  it('of the same account delete it once', async () => {
    const user = await buildUser(identity)

    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => leave(user)))

    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).to.have.length(1)
    expect((await readUser(identity, user.id)).stateVersion).to.equal(2)
  })

  it('refuse when a space was being created meanwhile, and change nothing', async () => {
    const user = await buildUser(identity)
    const making = identity.deps.orm.em.fork()
    await making.begin()
    await making.execute('insert into spaces (id, name, owner_id) values (1, ?, ?)', ['new', user.id])

    const leaving = leave(user)
    await identity.deps.orm.em.fork().execute(waitForLock)
    await making.commit()

    const refusal = await leaving.then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(refusal).to.include({ code: 'account_deletion_blocked_owned_spaces' })
    expect((await readUser(identity, user.id)).isDeleted).to.equal(false)
  })

  it('leave no deleted account as the owner of a space', async () => {
    const user = await buildUser(identity)
    await leave(user)

    const made = await buildSpace(identity, user).catch((error: unknown) => error)

    expect(made).to.be.an('error')
    expect(await column(identity, 'select 1 from spaces where owner_id = ?', [user.id])).to.deep.equal([])
  })
})

/** Each change of a shared row takes a moment, in which the other deletion reaches its own. */
async function slowDown({ deps }: TestIdentity): Promise<void> {
  const em = deps.orm.em.fork()
  await em.execute(`create function delay_change() returns trigger language plpgsql as $$
    begin
      perform pg_sleep(0.01);
      return coalesce(new, old);
    end $$`)
  const tables = ['friendships', 'friend_requests', 'bans', 'join_requests', 'voice_restrictions', 'message_reactions']
  for (const table of [...tables, 'dm_reactions', 'dm_channels']) {
    await em.execute(
      `create trigger delay_change before update or delete on ${table} for each row execute function delay_change()`,
    )
  }
}

/** Returns once a transaction waits for a lock in this database. */
const waitForLock = `do $$ begin
  for attempt in 1..500 loop
    perform pg_stat_clear_snapshot();
    exit when exists (
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    );
    perform pg_sleep(0.01);
  end loop;
end $$`
