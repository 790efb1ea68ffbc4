import type { overviewReply } from '@gatehouse/contracts'
import { answered } from '@gatehouse/test-kit'
import { expect } from 'chai'
import type { z } from 'zod'
import { buildInvite, buildStub, buildUser, setGates } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

/** Contract: 5, Overview. */
describe('GET /api/admin/overview', () => {
  let identity: TestIdentity
  before(async () => {
    identity = await startTestIdentity()
  })
  after(async () => await identity[Symbol.asyncDispose]())

  it('tells what is there, what waits, and which first steps are left', async () => {
    const now = identity.clock.now()
    const daysAgo = (days: number) => new Date(now - days * 24 * 60 * 60 * 1000)
    const dayOf = (date: Date) => date.toISOString().slice(0, 10)
    const admin = await buildUser(identity, { isAdmin: true, createdAt: daysAgo(40) })
    const tell = async () => {
      const { body } = await answered(identity.call('GET', '/api/admin/overview', { as: admin }))
      return body as unknown as z.infer<typeof overviewReply>
    }
    const alone = await tell()

    await buildUser(identity, { isAdmin: true, createdAt: daysAgo(29) })
    await buildUser(identity, { isDeleted: true, createdAt: daysAgo(1) })
    await buildUser(identity, { createdAt: daysAgo(1) })
    await buildStub(identity, { createdAt: daysAgo(1) })
    await buildInvite(identity)
    await setGates(identity, { registrationOpen: false })
    await identity.deps.orm.em.fork().execute(`
      update instance_settings set instance_name = 'Orchard', reserved_usernames = '["root"]';
      insert into session_nodes (id) select gen_random_uuid() from generate_series(1, 2);
      insert into presences (user_id, node_id) select ${admin.id}, id from session_nodes;
      insert into peers (id, origin, host, secret, status, created_at)
        select n, 'https://' || n || '.test', n || '.test', '', case when n < 3 then 'unreachable' else 'active' end, now()
        from generate_series(1, 3) n;
      insert into approval_requests (id, source_origin, direction, status, created_at, expires_at)
        values (1, 'https://wish.test', 'outbound', 'pending', now(), now());
      insert into deletion_orders (user_id, origin, mode, state, given_at)
        values (${admin.id}, 'https://1.test', 'full', 'overdue', now())`)
    const full = await tell()

    expect(alone).to.deep.include({ accounts: { total: 1 }, online: 0, waitingApprovals: 0, peersInTrouble: 0 })
    expect(alone).to.include({ pendingRegistrations: 0 })
    expect(new Set(Object.values(alone.firstSteps))).to.deep.equal(new Set([false]))
    expect(full).to.deep.include({ accounts: { total: 4 }, online: 1, waitingApprovals: 1, peersInTrouble: 2 })
    expect(full).to.deep.include({ ordersOverdue: 1, publicOrigin: identity.config.publicAddress.origin })
    expect(new Set(Object.values(full.firstSteps))).to.deep.equal(new Set([true]))
    expect(full.registrations.map(({ day }) => day)).to.deep.equal(
      Array.from({ length: 30 }, (_, n) => dayOf(daysAgo(29 - n))),
    )
    const counted = full.registrations.filter(({ count }) => count > 0)
    expect(counted).to.deep.equal([
      { day: dayOf(daysAgo(29)), count: 1 },
      { day: dayOf(daysAgo(1)), count: 2 },
    ])
  })
})
