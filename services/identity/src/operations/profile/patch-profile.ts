import { isDeepStrictEqual } from 'node:util'
import { homeFields, type ProfileBody } from '@gatehouse/contracts'
import { violates } from '@gatehouse/database'
import type { ActingCaller, User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { policy } from '../../policy.ts'
import { changeSelf, recordProfileChange } from '../change-account.ts'
import { checkNewIdentity, refuseHeldIdentity, requireOwnIdentity } from './home-user-id.ts'
import { normalizeReplicatedInstances } from './replicated-instances.ts'
import { updateUploadReferences } from './update-upload-references.ts'

type ProfileDeps = OperationContext & Pick<Deps, 'config' | 'afterCommit' | 'uploadCleanup' | 'bus'>
type ProfileChange = { caller: ActingCaller; changes: ProfileBody; requestId?: string | undefined }

/**
 * The event names fields whose value changed. Throws account_deleted, token_revoked, profile_managed_by_home,
 * file_not_own, origin_invalid, and as `checkNewIdentity` does. Contract: 3, PATCH.
 */
export async function patchProfile(deps: ProfileDeps, change: ProfileChange): Promise<User> {
  const { caller, changes, requestId } = change
  const values = valuesOf(deps, changes)
  const { homeUserId } = changes
  if (homeUserId !== undefined) await checkNewIdentity(deps, { userId: caller.userId, homeUserId, requestId })
  try {
    const { user, replacedFiles } = await changeSelf(deps, caller, async (own, em) => ({
      user: own,
      replacedFiles: await applyChange(deps, em, { user: own, changes, values, requestId }),
    }))
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
  { user, changes, values, requestId }: Omit<ProfileChange, 'caller'> & { user: User; values: ProfileValues },
): Promise<number> {
  if (!user.isLocal() && homeFields.some((field) => field in changes)) throw refuse.profile_managed_by_home()
  if (Object.keys(values).length === 0) return 0
  if (values.homeUserId) await refuseHeldIdentity(em, requireOwnIdentity(user, values.homeUserId), user.id)
  const now = deps.clock.now()
  const replacedFiles = await updateUploadReferences(em, { user, changes, now: new Date(now) })
  const changed = changedFields(user, values)
  // Peers take only a newer profile, and the clock may have been set back. A replica shows the time of its home.
  const isChangedHere = user.isLocal() && changed.length > 0
  const profileUpdatedAt = isChangedHere ? Math.max(now, user.profileUpdatedAt + 1) : user.profileUpdatedAt
  Object.assign(user, values, { profileUpdatedAt })
  if (changed.length > 0) await recordProfileChange(em, deps, { user, changed, requestId })
  return replacedFiles
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
