import { Peer } from '@gatehouse/domain'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'

/**
 * Changes what is known of an origin in one transaction, alone: whoever else changes the same origin waits, also while
 * there is no row yet. No other instance is asked in here: that would hold a connection for as long as it likes.
 */
export async function withPeer<T>(
  { orm }: Pick<Deps, 'orm'>,
  origin: string,
  change: (em: EntityManager, peer: Peer | null) => Promise<T>,
): Promise<T> {
  return await orm.em.fork().transactional(async (em) => {
    await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`peer ${origin}`])
    return await change(em, await em.findOne(Peer, { origin }, { lockMode: LockMode.PESSIMISTIC_WRITE }))
  })
}
