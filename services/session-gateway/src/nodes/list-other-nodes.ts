import { selectRows } from '@gatehouse/database'
import type { Deps, OperationContext } from '../deps.ts'

/** Leaves dead nodes out. */
export async function listOtherNodes({
  orm,
  node,
  timings,
}: Pick<OperationContext, 'orm' | 'timings'> & Pick<Deps, 'node'>): Promise<string[]> {
  const sql = `select id::text from session_nodes where id <> ? and seen_at > now() - ? * interval '1 millisecond'`
  const rows = await selectRows<{ id: string }>(orm.em.fork(), sql, [node.id, timings.nodeSilenceMs])
  return rows.map(({ id }) => id)
}
