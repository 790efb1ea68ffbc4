import {
  baseUsername,
  isFederatedUsername,
  limits,
  lookUpByHomeId,
  normalizeUsername,
  pictureFields,
  verifyAttachProof,
} from '@gatehouse/contracts'
import { changeRows } from '@gatehouse/database'
import { Email, LinkedIdentity, Passkey, User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { lockUser } from '../../queries/load-user.ts'
import { endTickets } from '../accounts/end-tickets.ts'
import { changeSelf, recordProfileChange, refuseViolation, type OwnAct } from '../change-account.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from '../deletion/delete-account.ts'
import { findExisting } from '../deletion/delete-rows.ts'
import { textsOf } from './apply-remote-profiles.ts'

type ReattachDeps = DeletionDeps & Pick<Deps, 'bus' | 'remotePictures'>
type NewIdentity = { homeInstance: string; homeUserId: string; username: string }
type Lookup = z.infer<typeof lookUpByHomeId.reply>

/** The former home confirms the token. The account takes over the stub of its new identity. protocol.md 4.6, steps 2-4. */
export async function reattach(deps: ReattachDeps, { caller, token, requestId }: OwnAct & { token: string }) {
  const stored = await deps.orm.em.fork().findOne(User, { id: caller.userId, isDeleted: false })
  if (!stored) throw refuse.account_deleted()
  const identity = await proveIdentity(deps, { user: stored, token, requestId })
  const lookup = await askProfile(deps, identity, requestId)
  const binding = changeSelf(deps, caller, (user, em) => bindIdentity(deps, em, { user, identity, lookup, requestId }))
  const { user, state, stubState } = await refuseViolation(binding, 'users_identity_unique', refuse.identity_held)
  if (stubState) await finishDeletion(deps, stubState)
  await deps.afterCommit.invalidateCache(state)
  for (const field of pictureFields) {
    const url = lookup?.profile?.[field]
    const origin = url ? URL.parse(url)?.origin : undefined
    if (url && origin) deps.remotePictures.fetchLater({ user, field, url, origin })
  }
  return user
}

/** Gives the host of the former home. */
function requireDetached(user: User): string {
  if (!user.federationHomeOrphaned || !user.detachedHomeInstance) throw refuse.not_detached()
  if (user.isAdmin) throw refuse.admin_stays_local()
  // Passwords are then a matter of the home, and so are second factors.
  if (user.secondFactor) throw refuse.second_factor_on()
  return user.detachedHomeInstance
}

type Proof = { user: User; token: string; requestId: string | undefined }

async function proveIdentity({ bus }: ReattachDeps, { user, token, requestId }: Proof): Promise<NewIdentity> {
  const host = requireDetached(user)
  const options = { requestId, timeoutMs: policy.lookupCallTimeoutMs }
  const { outcome, homeUserId, username } = await bus.request(verifyAttachProof, { host, token }, options)
  if (outcome === 'no_peer') throw refuse.home_not_peered()
  if (outcome === 'unreachable') throw refuse.home_unreachable()
  const isUsable = homeUserId !== undefined && homeUserId.length >= 1 && homeUserId.length <= limits.homeUserIdMax
  if (outcome !== 'valid' || !isUsable) throw refuse.proof_invalid()
  const renamed = `${baseUsername(normalizeUsername(username ?? ''))}@${host}`
  return { homeInstance: host, homeUserId, username: isFederatedUsername(renamed) ? renamed : user.username }
}

/** Undefined when the home cannot be asked. */
async function askProfile({ bus, log }: ReattachDeps, identity: NewIdentity, requestId: string | undefined) {
  const { homeInstance: host, homeUserId } = identity
  const options = { requestId, timeoutMs: policy.lookupCallTimeoutMs }
  return await bus.request(lookUpByHomeId, { host, homeUserId }, options).catch((err: unknown) => {
    log.warn({ err, host, requestId }, 'profile of a reattached account not asked')
    return undefined
  })
}

type Binding = { user: User; identity: NewIdentity; lookup: Lookup | undefined; requestId: string | undefined }

async function bindIdentity(deps: ReattachDeps, em: EntityManager, binding: Binding) {
  const { user, identity, lookup, requestId } = binding
  if (requireDetached(user) !== identity.homeInstance) throw refuse.proof_invalid()
  await em.nativeDelete(Passkey, { userId: user.id })
  await endTickets(em, user.id)
  await em.nativeDelete(LinkedIdentity, { userId: user.id })
  await em.nativeDelete(Email, { userId: user.id })
  const stubState = await endStub(deps, em, binding)
  const owner = await em.findOne(User, { username: identity.username }, { fields: ['id'] })
  const isFree = !owner || owner.id === user.id
  user.reattachToHome({ ...identity, username: isFree ? identity.username : user.username })
  const profile = lookup?.outcome === 'found' ? lookup.profile : undefined
  const texts = textsOf(profile ?? {})
  Object.assign(user, texts)
  const changed = ['homeInstance', 'homeUserId', 'federationHomeOrphaned', 'username', ...Object.keys(texts)]
  const state = await recordProfileChange(em, deps, { user, changed, requestId })
  return { user, state, stubState }
}

async function endStub(deps: ReattachDeps, em: EntityManager, { user: account, identity, requestId }: Binding) {
  const { homeInstance, homeUserId } = identity
  const holder = await em.findOne(User, { homeInstance, homeUserId, isDeleted: false })
  const user = holder && (await lockUser(em, holder.id))
  if (!user || user.isDeleted) return undefined
  if (!user.isStub()) throw refuse.identity_held()
  // Its home suspended it after it had confirmed the proof.
  if (user.isSuspended()) throw refuse.proof_invalid()
  await mergeStub(em, { stubId: user.id, accountId: account.id })
  const blocked = () => refuse.identity_held()
  return await deleteLockedAccount(deps, em, { user, mode: 'soft', actor: null, requestId, audience: [], blocked })
}

/** `key`: what the table allows once for each user. */
type Reference = { table: string; column: string; key?: readonly string[] }

/** Those that move to the account. completeness.test.ts has what stays, and why. */
export const mergedReferences: readonly Reference[] = [
  { table: 'space_members', column: 'user_id', key: ['space_id'] },
  { table: 'role_assignments', column: 'user_id', key: ['role_id'] },
  { table: 'bans', column: 'user_id', key: ['space_id'] },
  { table: 'voice_restrictions', column: 'user_id', key: ['space_id'] },
  { table: 'join_requests', column: 'user_id', key: ['space_id'] },
  { table: 'dm_members', column: 'user_id', key: ['channel_id'] },
  { table: 'read_states', column: 'user_id', key: ['channel_id'] },
  { table: 'message_reactions', column: 'user_id', key: ['message_id', 'emoji'] },
  { table: 'dm_reactions', column: 'user_id', key: ['message_id', 'emoji'] },
  { table: 'friendships', column: 'user_id', key: ['friend_id'] },
  { table: 'friendships', column: 'friend_id', key: ['user_id'] },
  { table: 'friend_requests', column: 'from_user_id', key: ['to_user_id'] },
  { table: 'friend_requests', column: 'to_user_id', key: ['from_user_id'] },
  ...['messages', 'dm_messages'].map((table) => ({ table, column: 'author_id' })),
  { table: 'space_folders', column: 'user_id' },
  { table: 'dm_channels', column: 'owner_id' },
]

/** Of users. */
const pairs = { friendships: ['user_id', 'friend_id'], friend_requests: ['from_user_id', 'to_user_id'] } as const

/** What the account has already stays with the stub. A stub moderates nothing. protocol.md 4.6, step 4. */
async function mergeStub(em: EntityManager, { stubId, accountId }: { stubId: string; accountId: string }) {
  for (const [table, [one, other]] of Object.entries(pairs)) {
    const sql = `delete from ${table} where (${one} = ? and ${other} = ?) or (${one} = ? and ${other} = ?)`
    await changeRows(em, sql, [stubId, accountId, accountId, stubId])
  }
  for (const reference of await findExisting(em, mergedReferences)) {
    await changeRows(em, moveOf(reference), [accountId, stubId, ...(reference.key ? [accountId] : [])])
  }
  const overrides = `update channel_overrides moved set target_id = ?
    where target_type = 'member' and target_id = ? and not exists (
      select 1 from channel_overrides kept
      where kept.channel_id = moved.channel_id and kept.target_type = 'member' and kept.target_id = ?)`
  await changeRows(em, overrides, [accountId, stubId, accountId])
}

function moveOf({ table, column, key }: Reference): string {
  const sql = `update ${table} moved set ${column} = ? where moved.${column} = ?`
  if (!key) return sql
  const same = key.map((name) => `kept.${name} = moved.${name}`).join(' and ')
  return `${sql} and not exists (select 1 from ${table} kept where kept.${column} = ? and ${same})`
}
