import { isDeepStrictEqual } from 'node:util'
import { homeFields, baseUsername, lookUpByHomeId, type ProfileBody } from '@gatehouse/contracts'
import { takeShared, violates } from '@gatehouse/database'
import { User, type ActingCaller } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { rateLimited, refuse } from '@gatehouse/runtime'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { changeSelf, recordProfileChange } from '../change-account.ts'
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

type NewIdentity = { userId: string; homeUserId: string; requestId?: string | undefined }
type Identity = { homeInstance: string; homeUserId: string }

/**
 * An active peer must confirm that the id belongs to the base name. Throws account_deleted, identity_is_local,
 * identity_fixed, identity_unconfirmed, identity_held, rate_limited. Contract: 3, PATCH, Writes of one's own.
 */
export async function checkNewIdentity(
  { orm, bus, clock }: OperationContext & Pick<Deps, 'bus'>,
  { userId, homeUserId, requestId }: NewIdentity,
): Promise<void> {
  const em = orm.em.fork()
  const user = await em.findOne(User, { id: userId, isDeleted: false })
  if (!user) throw refuse.account_deleted()
  const identity = requireOwnIdentity(user, homeUserId)
  if (user.homeUserId === homeUserId) return
  const limit = { limit: policy.newIdentities, key: userId, now: clock.now() }
  const { remaining, retryAfter } = await takeShared(em, limit)
  if (remaining < 0) throw rateLimited(retryAfter)
  await refuseHeldIdentity(em, identity, userId)
  const options = { requestId, timeoutMs: policy.lookupCallTimeoutMs }
  const asked = await bus.request(lookUpByHomeId, { host: identity.homeInstance, homeUserId }, options)
  if (asked.outcome === 'no_peer') return
  const confirmed = asked.outcome === 'found' ? baseUsername(asked.username ?? '').toLowerCase() : undefined
  if (confirmed !== baseUsername(user.username)) throw refuse.identity_unconfirmed()
}

/** Throws identity_is_local, identity_fixed. */
export function requireOwnIdentity(user: User, homeUserId: string): Identity {
  const { homeInstance } = user
  if (!homeInstance) throw refuse.identity_is_local()
  if (user.homeUserId && user.homeUserId !== homeUserId) throw refuse.identity_fixed()
  return { homeInstance, homeUserId }
}

/** The unique index decides between racers. Throws identity_held. */
export async function refuseHeldIdentity(em: EntityManager, identity: Identity, exceptId: string): Promise<void> {
  const holder = await em.findOne(User, { ...identity, isDeleted: false, id: { $ne: exceptId } }, { fields: ['id'] })
  if (holder) throw refuse.identity_held()
}
