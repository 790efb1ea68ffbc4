import { changeRows, selectRows } from '@gatehouse/database'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import type { PresenceChange } from './settle-presence.ts'
import { bigints } from './settle-presence.ts'
import { condemned } from './session-node.ts'

type Needs = Pick<Deps, 'orm' | 'broadcaster' | 'timings' | 'meters'>

/** Gives up nodes that have been silent for too long, and then clears away what dead nodes left. Contract: 6, status. */
export async function reapSilentNodes(deps: Needs): Promise<void> {
  const silent = `update session_nodes set seen_at = ${condemned}
    where seen_at > ${condemned} and seen_at < now() - ? * interval '1 millisecond'`
  await changeRows(deps.orm.em.fork(), silent, [deps.timings.nodeSilenceMs])
  await clearDeadNodes(deps)
}

/**
 * Takes the users of dead nodes off the list, some at a time and never waiting for a lock, so that any number of nodes
 * may do it at once; what another transaction holds comes next time. A node is removed when none is left.
 */
export async function clearDeadNodes(deps: Needs): Promise<void> {
  for (;;) {
    const { taken, changes } = await takeOff(deps)
    await deps.broadcaster.tell(changes)
    if (taken < policy.reapBatch) break
  }
  const removed = await changeRows(
    deps.orm.em.fork(),
    `delete from session_nodes where seen_at = ${condemned}
     and not exists (select from presences where node_id = session_nodes.id)`,
  )
  deps.meters.nodesReaped.inc(removed)
}

async function takeOff({ orm }: Needs): Promise<{ taken: number; changes: PresenceChange[] }> {
  return await orm.em.fork().transactional(async (em) => {
    const rows = await selectRows<{ id: string }>(
      em,
      `select users.id::text from users
       where users.id in (
         select user_id from presences join session_nodes on session_nodes.id = node_id where seen_at = ${condemned})
       order by users.id limit ? for no key update skip locked`,
      [policy.reapBatch],
    )
    if (rows.length === 0) return { taken: 0, changes: [] }
    type Row = { user_id: string; version: string }
    // A later statement than the locking one, so that it sees what was committed until then.
    const changed = await selectRows<Row>(
      em,
      `with dead as (select id from session_nodes where seen_at = ${condemned}), removed as (
         delete from presences where user_id = any(?::bigint[]) and node_id in (select id from dead) returning user_id
       ), hidden as (
         update users set status = 'offline' where id in (select user_id from removed) and not exists (
           select from presences where user_id = users.id and node_id not in (select id from dead))
         returning id
       )
       select id::text as user_id, nextval('presence_versions')::text as version from hidden`,
      [bigints(rows.map((row) => row.id))],
    )
    const changes = changed.map((row): PresenceChange => {
      return { userId: row.user_id, status: 'offline', version: Number(row.version) }
    })
    return { taken: rows.length, changes }
  })
}
