import { changeRows, selectRows } from '@gatehouse/database'
import type { Deps } from '../deps.ts'

/** This process as the database knows it: while its row is fresh, the users written down for it count as present. */
export type SessionNode = {
  readonly id: string
  /** Says that this process lives. Taken for dead by the others, it becomes a new node. */
  renew(): Promise<void>
  /** Calls `act` when it has become a new node, which knows of nobody yet. */
  onRebirth(act: () => void): void
  /**
   * Says goodbye. With another node there, the users are left to it until the grace period is over: who reconnects never
   * was away. Gives false when there is none.
   */
  handOver(): Promise<boolean>
  /** Marks this node, or all others too, as dead. */
  condemn(which: 'self' | 'all'): Promise<void>
}

/** A dead node stays until all its users are seen to; it cannot come back to life meanwhile. */
export const condemned = "'-infinity'::timestamptz"

/** Writes a new node down. */
export async function enrolNode({
  orm,
  random,
  timings,
}: Pick<Deps, 'orm' | 'random' | 'timings'>): Promise<SessionNode> {
  const em = () => orm.em.fork()
  let id = ''
  let reborn = () => {}

  async function enrol(): Promise<void> {
    const fresh = random.uuid()
    await changeRows(em(), 'insert into session_nodes (id) values (?)', [fresh])
    id = fresh
  }

  await enrol()
  return {
    get id() {
      return id
    },
    async renew() {
      const renewal = `update session_nodes set seen_at = now() where id = ? and seen_at > ${condemned}`
      if ((await changeRows(em(), renewal, [id])) === 1) return
      await enrol()
      reborn()
    },
    onRebirth: (act) => void (reborn = act),
    async handOver() {
      const others = `select id from session_nodes where id <> ? and seen_at > now() - ? * interval '1 millisecond'`
      const alive = await selectRows(em(), others, [id, timings.nodeSilenceMs])
      if (alive.length === 0) return false
      const leave = `update session_nodes set seen_at = now() - ? * interval '1 millisecond' where id = ?`
      await changeRows(em(), leave, [timings.nodeSilenceMs - timings.graceMs, id])
      return true
    },
    async condemn(which) {
      const condemn = `update session_nodes set seen_at = ${condemned} where id = ? or ?`
      await changeRows(em(), condemn, [id, which === 'all'])
    },
  }
}
