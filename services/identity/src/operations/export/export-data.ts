import { assertCurrent, readAccountStates } from '@gatehouse/authority'
import type { Readable } from 'node:stream'
import { isRefusal, refuse } from '@gatehouse/runtime'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { loadCaller } from '../../queries/load-user.ts'
import { changeSelf } from '../change-account.ts'
import { verifyOwnPassword, type Confirmed } from '../credentials/verify-password.ts'
import { createArchive } from './archive.ts'
import { ownParts } from './own-parts.ts'

type ExportDeps = OperationContext & Pick<Deps, 'config' | 'uploadStore' | 'hasher' | 'exportQuota' | 'upstreams'>

/** Made while it is read, without a connection in between. A revocation destroys the stream. Contract: 3, export. */
export async function exportData(
  deps: ExportDeps,
  confirmation: Confirmed,
): Promise<{ archive: Readable; username: string }> {
  const { orm, clock, log, exportQuota } = deps
  const { caller, requestId } = confirmation
  const { userId } = caller
  const user = await loadCaller(deps, caller)
  const confirm = await verifyOwnPassword(deps, user, confirmation)
  /** Throws account_deleted, token_revoked. Design: invariant 1. */
  const judge = async () => {
    const [state] = await readAccountStates(orm.em, [userId])
    assertCurrent(state, caller)
    return state
  }
  await judge()
  if (!exportQuota.take(userId)) {
    if (exportQuota.total() < policy.exportsAtOnce) throw refuse.export_under_way()
    throw refuse.exports_busy({ headers: { 'Retry-After': String(policy.exportRetryAfterSeconds) } })
  }
  const confirming = confirmation.ticket === undefined ? undefined : changeSelf(deps, caller, confirm)
  await confirming?.catch((error: unknown) => {
    exportQuota.release(userId)
    throw error
  })
  const archive = createArchive(ownParts(deps, userId, judge), { modifiedAt: new Date(clock.now()) })
  archive.once('close', () => exportQuota.release(userId))
  archive.once('error', (err) => {
    if (isRefusal(err)) log.info({ userId, requestId, reason: err.code }, 'export ended: its token counts no longer')
    else log.warn({ err, userId, requestId }, 'export broke off')
  })
  return { archive, username: user.username }
}
