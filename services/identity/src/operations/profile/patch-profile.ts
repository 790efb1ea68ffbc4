import { isDeepStrictEqual } from 'node:util'
import { homeFields, profileChanged, type ProfileBody } from '@gatehouse/contracts'
import { runTransaction, violates } from '@gatehouse/database'
import { accountStateOf, assertCurrent, type ActingCaller, type User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { policy } from '../../policy.ts'
import { lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../account-events.ts'
import { checkNewIdentity, refuseHeldIdentity, requireOwnIdentity } from './home-user-id.ts'
import { normalizeReplicatedInstances } from './replicated-instances.ts'
import { updateUploadReferences } from './update-upload-references.ts'

type ProfileDeps = OperationContext & Pick<Deps, 'config' | 'afterCommit' | 'uploadCleanup' | 'bus'>
type ProfileChange = { caller: ActingCaller; changes: ProfileBody; requestId?: string | undefined }

/**
 * Changes the own profile: fields that are absent stay. Replaced files leave the disk. The event names the fields whose
 * value changed. Throws account_deleted, token_revoked, profile_managed_by_home, file_not_own, origin_invalid, and those of
 * `checkNewIdentity`. Contract: 3, PATCH.
 */
export async function patchProfile(deps: ProfileDeps, change: ProfileChange): Promise<User> {
  const { caller, changes, requestId } = change
  const values = valuesOf(deps, changes)
  const { homeUserId } = changes
  if (homeUserId !== undefined) await checkNewIdentity(deps, { userId: caller.userId, homeUserId, requestId })
  try {
    const apply = (em: EntityManager) => applyChange(deps, em, { ...change, values })
    const { user, replacedFiles } = await runTransaction(deps.orm, apply, { accountId: caller.userId })
    deps.afterCommit.publishEvents()
    if (replacedFiles > 0) await deps.uploadCleanup.removeRecordedFiles({ atMost: policy.filesRemovedAtOnce })
    return user
  } catch (error) {
    if (violates(error, 'users_identity_unique')) throw refuse.identity_held({ cause: error })
    throw error
  }
}

async function applyChange(
  deps: ProfileDeps,
  em: EntityManager,
  { caller, changes, values, requestId }: ProfileChange & { values: ProfileValues },
): Promise<{ user: User; replacedFiles: number }> {
  const user = await lockUser(em, caller.userId)
  assertCurrent(user, caller)
  if (!user.isLocal() && homeFields.some((field) => field in changes)) throw refuse.profile_managed_by_home()
  if (Object.keys(values).length === 0) return { user, replacedFiles: 0 }
  if (values.homeUserId) await refuseHeldIdentity(em, requireOwnIdentity(user, values.homeUserId), user.id)
  const now = deps.clock.now()
  const replacedFiles = await updateUploadReferences(em, { user, changes, now: new Date(now) })
  const changed = changedFields(user, values)
  // Of a replica it is the time of the home's last change that is shown here. Peers take a profile that is newer only, so
  // that a clock that was set back, or two changes in one millisecond, must not lose the last one.
  const isChangedHere = user.isLocal() && changed.length > 0
  const profileUpdatedAt = isChangedHere ? Math.max(now, user.profileUpdatedAt + 1) : user.profileUpdatedAt
  Object.assign(user, values, { profileUpdatedAt })
  await em.flush()
  const facts = { state: accountStateOf(user), at: now, profileUpdatedAt, changed, requestId }
  if (changed.length > 0) await recordAccountEvent(em, deps, profileChanged, facts)
  return { user, replacedFiles }
}

type ProfileValues = Partial<Pick<User, keyof ProfileBody & keyof User>>

function valuesOf({ config }: Pick<Deps, 'config'>, changes: ProfileBody): ProfileValues {
  const named = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as ProfileValues
  if (!changes.replicatedInstances) return named
  const allowHttp = config.reach.allowPrivate.length > 0
  return { ...named, replicatedInstances: normalizeReplicatedInstances(changes.replicatedInstances, { allowHttp }) }
}

function changedFields(user: User, values: ProfileValues): string[] {
  const fields = Object.keys(values) as (keyof ProfileValues)[]
  return fields.filter((field) => !isDeepStrictEqual(user[field] ?? null, values[field] ?? null))
}
