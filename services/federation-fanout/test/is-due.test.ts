import { expect } from 'chai'
import { openMigratedDatabase } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/test-kit/time'
import { isAnythingDue } from '../src/maintenance/run-due.ts'

const peer = (status: string, column: string) =>
  `insert into peers (id, origin, host, secret, status, ${column}) values (2, 'https://b.test', 'b.test', 's', '${status}', ?)`
const request = (status: string, columns: string, values: string) =>
  `insert into approval_requests (id, source_origin, status, ${columns}) values (3, 'https://c.test', '${status}', ${values})`
const delivery = (nextAttemptAt: string, expiresAt: string) =>
  `insert into federation_deliveries values (1, 1, 1, 0, ${nextAttemptAt}, ${expiresAt})`

/** A row of each kind that the maintenance works off, whose time comes at the parameter. */
const dueAt = {
  'a message to a peer': peer('pending', 'next_attempt_at'),
  'the end of a pending peer': peer('pending', 'expires_at'),
  'a rotation': peer('active', 'next_rotation_at'),
  'a message about a request': request('denied', 'expires_at, next_attempt_at', "'infinity', ?"),
  'the end of an unproven offer': request('unproven', 'expires_at', '?'),
  'the end of a request': request('pending', 'expires_at', '?'),
  'a reset': "insert into peer_resets values ('https://d.test', 'd.test', 'i', 'j', 0, ?)",
  'the end of a proof': "insert into attach_proofs values ('hash', 1, 'b.test', ?)",
  'the end of a nonce':
    "insert into federation_nonces values ('https://a.test', 'n', ?::timestamptz - interval '1 millisecond')",
  'the end of a limit': "insert into federation_limits (name, key, requests, ends_at) values ('relay', 'b', 1, ?)",
  'a delivery': delivery('?', "'infinity'"),
  'the end of a delivery': delivery("'infinity'", '?'),
}
const tables = [
  'peers where id = 2',
  'approval_requests',
  'peer_resets',
  'attach_proofs',
  'federation_nonces',
  'federation_limits',
  'federation_deliveries',
]

describe('the maintenance runs', () => {
  it('when the time of any row has come that it works off, and not before', async () => {
    await using database = await openMigratedDatabase()
    const em = database.orm.em.fork()
    const clock = movableClock()
    const isDue = () => isAnythingDue({ orm: database.orm, clock })
    await em.execute("insert into users (id, username, password_hash) values (1, 'ann', '!')")
    await em.execute(
      "insert into peers (id, origin, host, secret, status) values (1, 'https://a.test', 'a.test', 's', 'active')",
    )

    const seen: Record<string, boolean[]> = {}
    for (const [kind, sql] of Object.entries(dueAt)) {
      await em.execute(sql, [new Date(clock.now() + 1)])
      const before = await isDue()
      clock.advance(1)
      seen[kind] = [before, await isDue()]
      for (const rows of tables) await em.execute(`delete from ${rows}`)
    }

    expect(seen).to.deep.equal(Object.fromEntries(Object.keys(dueAt).map((kind) => [kind, [false, true]])))
    expect(await isDue()).to.equal(false)
  })
})
