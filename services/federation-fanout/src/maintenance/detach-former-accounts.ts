import { changeRows, read } from '@gatehouse/database'
import { detachHome } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'

/** Repeated until identity has done it. Contract: 7, detached accounts; federation-wire.md 2.6. */
export async function detachFormerAccounts({ orm, bus, log }: Deps, origin: string): Promise<void> {
  const em = orm.em.fork()
  const sql = 'select host from peer_resets where origin = ? and new_instance_id is not null'
  const [row] = await read<{ host: string }>(em, sql, [origin])
  if (!row) return
  await bus.request(detachHome, { host: row.host }, { timeoutMs: policy.profileCallTimeoutMs })
  await changeRows(em, 'delete from peer_resets where origin = ? and new_instance_id is not null', [origin])
  log.info({ origin, host: row.host }, 'accounts of a former instance detached')
}
