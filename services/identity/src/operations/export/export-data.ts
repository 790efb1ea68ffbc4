import type { Readable } from 'node:stream'
import type { AccountState } from '@gatehouse/contracts'
import { readAccountStates } from '@gatehouse/database'
import { assertCurrent, type ActingCaller } from '@gatehouse/domain'
import { isRefusal, refuse } from '@gatehouse/runtime'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { loadCaller } from '../../queries/load-user.ts'
import { verifyOwnPassword } from '../credentials/verify-password.ts'
import { createArchive } from './archive.ts'
import { ownParts } from './own-parts.ts'

type ExportDeps = OperationContext & Pick<Deps, 'config' | 'uploadStore' | 'hasher' | 'exportQuota' | 'upstreams'>
type Export = { caller: ActingCaller; address: string; password?: unknown; requestId?: string | undefined }

/**
 * The archive is made while it is read, without a database connection in between. A revocation destroys the stream.
 * Throws password_required, password_incorrect, account_deleted, token_revoked, hashing_busy, export_under_way,
 * exports_busy. Contract: 3, export.
 */
export async function exportData(deps: ExportDeps, given: Export): Promise<{ archive: Readable; username: string }> {
  const { caller, address, password, requestId } = given
  const { userId } = caller
  const user = await loadCaller(deps, caller)
  await verifyOwnPassword(deps, user, { password, address })
  const judge = () => judgeAgain(deps, caller)
  await judge()
  if (!deps.exportQuota.take(userId)) throw exportRefused(deps)
  const archive = createArchive(ownParts(deps, userId, judge), { modifiedAt: new Date(deps.clock.now()) })
  archive.once('close', () => deps.exportQuota.release(userId))
  archive.once('error', (err) => {
    if (isRefusal(err))
      deps.log.info({ userId, requestId, reason: err.code }, 'export ended: its token counts no longer')
    else deps.log.warn({ err, userId, requestId }, 'export broke off')
  })
  return { archive, username: user.username }
}

function exportRefused({ exportQuota }: Pick<Deps, 'exportQuota'>) {
  if (exportQuota.total() < policy.exportsAtOnce) return refuse.export_under_way()
  return refuse.exports_busy({ headers: { 'Retry-After': String(policy.exportRetryAfterSeconds) } })
}

/** Throws account_deleted, token_revoked. Design: invariant 1. */
async function judgeAgain({ orm }: Pick<Deps, 'orm'>, caller: ActingCaller): Promise<AccountState> {
  const [state] = await readAccountStates(orm.em, [caller.userId])
  assertCurrent(state, caller)
  return state
}
