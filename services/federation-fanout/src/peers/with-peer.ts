import { enqueue } from '@gatehouse/bus'
import { peerChanged } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import { ApprovalRequest, Peer, assertCallerCurrent, type ActingAdmin } from '@gatehouse/domain'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'

export type PeerDeps = Pick<Deps, 'orm' | 'clock' | 'random' | 'relay'>

/**
 * Changes what is stored of an origin in one transaction under a lock of that origin, which holds also while there is no
 * row yet. A change of the peer's state or of its waiting requests publishes PeerChanged with `actor`, the admin who acts,
 * whose token is judged again first. No other instance is called in here: its pace would hold a database connection. The
 * transaction may run more than once. Throws as `assertCallerCurrent` does. Design: invariants 1, 10.
 */
export async function withPeer<T>(
  deps: PeerDeps,
  origin: string,
  change: (em: EntityManager, peer: Peer | null) => Promise<T>,
  actor: ActingAdmin | null = null,
): Promise<T> {
  const result = await runTransaction(deps.orm, async (em) => {
    if (actor) await assertCallerCurrent(em, actor, { admin: true })
    await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`peer ${origin}`])
    const peer = await em.findOne(Peer, { origin }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    const before = await describeOrigin(em, origin)
    const changed = await change(em, peer)
    await em.flush()
    const after = await describeOrigin(em, origin)
    if (after.status !== before.status || after.waiting !== before.waiting) {
      const payload = { at: deps.clock.now(), actor, origin, status: after.status }
      await enqueue(em, peerChanged, payload, { id: deps.random.uuid() })
    }
    return changed
  })
  deps.relay.notify()
  return result
}

async function describeOrigin(em: EntityManager, origin: string): Promise<{ status: string; waiting: number }> {
  const peer = await em.findOne(Peer, { origin })
  const waiting = await em.count(ApprovalRequest, { sourceOrigin: origin, status: 'pending' })
  return { status: peer?.status ?? 'none', waiting }
}
