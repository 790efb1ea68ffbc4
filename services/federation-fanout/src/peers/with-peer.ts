import { enqueue } from '@gatehouse/bus'
import { peerChanged } from '@gatehouse/contracts'
import { ApprovalRequest, Peer } from '@gatehouse/domain'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { Actor, Deps } from '../deps.ts'

export type PeerDeps = Pick<Deps, 'orm' | 'clock' | 'random' | 'relay'>

/**
 * Changes what is stored of an origin in one transaction under a lock of that origin, which holds also while there is no
 * row yet. A change of the peer's state or of its waiting requests publishes PeerChanged with `actor`, the admin who acts.
 * No other instance is called in here: its pace would hold a database connection. Design: invariant 10.
 */
export async function withPeer<T>(
  deps: PeerDeps,
  origin: string,
  change: (em: EntityManager, peer: Peer | null) => Promise<T>,
  actor: Actor | null = null,
): Promise<T> {
  const result = await deps.orm.em.fork().transactional(async (em) => {
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
