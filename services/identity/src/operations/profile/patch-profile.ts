import { isDeepStrictEqual } from 'node:util'
import {
  baseUsername,
  homeFields,
  isNameOfHost,
  lookUpByHomeId,
  normalizeOrigin,
  type ProfileBody,
} from '@gatehouse/contracts'
import { takeShared } from '@gatehouse/database'
import { User, type ReplicatedInstance } from '@gatehouse/domain'
import { invalidInput, rateLimited, refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { chooseNotices } from '../email/own-email.ts'
import { changeSelf, recordProfileChange, refuseViolation, type OwnAct } from '../change-account.ts'
import { updateUploadReferences } from './update-upload-references.ts'

type ProfileDeps = OperationContext & Pick<Deps, 'config' | 'uploadCleanup' | 'bus'>
type ProfileChange = OwnAct & { changes: ProfileBody }

/** The event names fields whose value changed. Contract: 3, PATCH. */
export async function patchProfile(deps: ProfileDeps, change: ProfileChange): Promise<User> {
  const { caller, requestId } = change
  const { emailNotices, ...changes } = change.changes
  const values = valuesOf(deps, changes)
  const { homeUserId } = changes
  if (homeUserId !== undefined) await checkNewIdentity(deps, { userId: caller.userId, homeUserId, requestId })
  const changing = changeSelf(deps, caller, async (user, em) => {
    if (emailNotices !== undefined && deps.config.mail && user.isLocal()) await chooseNotices(em, user.id, emailNotices)
    return { user, replacedFiles: await applyChange(deps, em, { user, changes, values, requestId }) }
  })
  const { user, replacedFiles } = await refuseViolation(changing, 'users_identity_unique', refuse.identity_held)
  deps.afterCommit.publishEvents()
  if (replacedFiles > 0) await deps.uploadCleanup.removeRecordedFiles()
  return user
}

type ProfileValues = Partial<Pick<User, keyof ProfileBody & keyof User>>
type Application = Omit<ProfileChange, 'caller'> & { user: User; values: ProfileValues }

async function applyChange(deps: ProfileDeps, em: EntityManager, application: Application): Promise<number> {
  const { user, changes, values, requestId } = application
  if (!user.isLocal() && homeFields.some((field) => field in changes)) throw refuse.profile_managed_by_home()
  if (Object.keys(values).length === 0) return 0
  if (values.homeUserId) await refuseHeldIdentity(em, requireOwnIdentity(user, values.homeUserId), user.id)
  const now = deps.clock.now()
  const replacedFiles = await updateUploadReferences(em, { user, changes, now: new Date(now) })
  const fields = Object.keys(values) as (keyof ProfileValues)[]
  const changed = fields.filter((field) => !isDeepStrictEqual(user[field] ?? null, values[field] ?? null))
  // Peers take only a newer profile, and the clock may have been set back. A replica shows the time of its home.
  const isChangedHere = user.isLocal() && changed.length > 0
  const profileUpdatedAt = isChangedHere ? Math.max(now, user.profileUpdatedAt + 1) : user.profileUpdatedAt
  Object.assign(user, values, { profileUpdatedAt })
  if (changed.length > 0) await recordProfileChange(em, deps, { user, changed, requestId })
  return replacedFiles
}

function valuesOf({ config }: Pick<Deps, 'config'>, changes: ProfileBody): ProfileValues {
  const values = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as ProfileValues
  if (!changes.replicatedInstances) return values
  const isHttpAllowed = config.reach.allowPrivate.length > 0
  return { ...values, replicatedInstances: normalizeInstances(changes.replicatedInstances, isHttpAllowed) }
}

/** The first entry of an origin counts. Throws invalid_input. Contract: 3, PATCH. */
function normalizeInstances(submitted: readonly ReplicatedInstance[], isHttpAllowed: boolean): ReplicatedInstance[] {
  const byOrigin = new Map<string, ReplicatedInstance>()
  for (const { origin: typedOrigin, username } of submitted) {
    const origin = normalizeOrigin(typedOrigin)
    const isAllowed = origin?.startsWith('https://') || (isHttpAllowed && origin?.startsWith('http://'))
    if (!origin || !isAllowed || username === '') {
      const text = 'replicatedInstances must hold https origins and usernames'
      throw invalidInput({ field: 'replicatedInstances', reason: 'invalid' }, { text })
    }
    if (!byOrigin.has(origin)) byOrigin.set(origin, { origin, username })
  }
  return [...byOrigin.values()]
}

type NewIdentity = { userId: string; homeUserId: string; requestId: string | undefined }
type Identity = { homeInstance: string; homeUserId: string }

/** An active peer must confirm that the id belongs to the base name. Contract: 3, homeUserId, Writes of one's own. */
async function checkNewIdentity({ orm, bus, clock }: ProfileDeps, { userId, homeUserId, requestId }: NewIdentity) {
  const em = orm.em.fork()
  const user = await em.findOne(User, { id: userId, isDeleted: false })
  if (!user) throw refuse.account_deleted()
  const identity = requireOwnIdentity(user, homeUserId)
  if (user.homeUserId === homeUserId) return
  if (!isNameOfHost(user.username, identity.homeInstance)) throw refuse.identity_unconfirmed()
  const limit = { limit: policy.newIdentities, key: userId, now: clock.now() }
  const { remaining, retryAfter } = await takeShared(em, limit)
  if (remaining < 0) throw rateLimited(retryAfter)
  await refuseHeldIdentity(em, identity, userId)
  const options = { requestId, timeoutMs: policy.lookupCallTimeoutMs }
  const lookup = await bus.request(lookUpByHomeId, { host: identity.homeInstance, homeUserId }, options)
  if (lookup.outcome === 'no_peer') return
  const confirmed = lookup.outcome === 'found' ? baseUsername(lookup.username ?? '').toLowerCase() : undefined
  if (confirmed !== baseUsername(user.username)) throw refuse.identity_unconfirmed()
}

function requireOwnIdentity(user: User, homeUserId: string): Identity {
  const { homeInstance } = user
  if (!homeInstance) throw refuse.identity_is_local()
  if (user.homeUserId && user.homeUserId !== homeUserId) throw refuse.identity_fixed()
  return { homeInstance, homeUserId }
}

/** The unique index decides between racers. Throws identity_held. */
async function refuseHeldIdentity(em: EntityManager, identity: Identity, exceptId: string): Promise<void> {
  const holder = await em.findOne(User, { ...identity, isDeleted: false, id: { $ne: exceptId } }, { fields: ['id'] })
  if (holder) throw refuse.identity_held()
}
