import { isDeepStrictEqual } from 'node:util'
import { profileChanged, type ProfileBody } from '@gatehouse/contracts'
import { accountStateOf, type User } from '@gatehouse/domain'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '../../errors.ts'
import { policy } from '../../policy.ts'
import { lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../account-events.ts'
import { normalizeReplicatedInstances } from './replicated-instances.ts'
import { updateUploadReferences } from './update-upload-references.ts'

type ProfileDeps = OperationContext & Pick<Deps, 'config' | 'afterCommit' | 'uploadCleanup'>
type ProfileChange = { userId: string; changes: ProfileBody; requestId?: string | undefined }

/** Fields of a federated account that its home instance decides. Contract: 3, PATCH. */
const homeManagedFields = ['displayName', 'avatar', 'banner', 'accentColor', 'avatarColor', 'bio'] as const

/**
 * Changes the own profile: fields that are absent stay. Replaced files leave the disk. The event names the fields whose
 * value changed. Throws account_deleted, profile_managed_at_home, file_not_own, origin_invalid. Contract: 3, PATCH.
 */
export async function patchProfile(deps: ProfileDeps, { userId, changes, requestId }: ProfileChange): Promise<User> {
  const values = valuesOf(deps, changes)
  const { user, replacedFiles } = await deps.orm.em.fork().transactional(async (em) => {
    const user = await lockUser(em, userId)
    if (!user || user.isDeleted) throw refuse.account_deleted()
    if (!user.isLocal() && homeManagedFields.some((field) => field in changes)) throw refuse.profile_managed_at_home()
    if (Object.keys(values).length === 0) return { user, replacedFiles: 0 }
    const now = deps.clock.now()
    const replacedFiles = await updateUploadReferences(em, { user, changes, now: new Date(now) })
    const changed = changedFields(user, values)
    Object.assign(user, values, { profileUpdatedAt: now })
    await em.flush()
    const facts = { state: accountStateOf(user), at: now, profileUpdatedAt: now, changed, requestId }
    if (changed.length > 0) await recordAccountEvent(em, deps, profileChanged, facts)
    return { user, replacedFiles }
  })
  deps.afterCommit.publishEvents()
  if (replacedFiles > 0) await deps.uploadCleanup.removeRecordedFiles({ atMost: policy.filesRemovedAtOnce })
  return user
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
