import { signReceipt } from '@gatehouse/auth'
import { deleteFederatedIdentity, lookupFields, ownedSpaces, resolveReplicatedUser } from '@gatehouse/contracts'
import type { attachProofReply, DeletionMode, RemoteUser, resolveStubBody } from '@gatehouse/contracts'
import { changeRows, read, transaction } from '@gatehouse/database'
import { queueDeliveries } from '@gatehouse/deliveries'
import { ProfileAsker, User, type Peer } from '@gatehouse/domain'
import { isRefusal, refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { hostOf, hashToken } from '../peers/signature.ts'
import { policy } from '../policy.ts'
import { findNativeUser, type NativeUser } from '../relay/native-profiles.ts'

type Deletion = { homeUserId: string; homeInstance: string; mode: DeletionMode; requestId?: string | undefined }

/** Succeeds for a missing account. Throws foreign_identity, owns_spaces. Contract: 7, identity, Receipts. */
export async function deleteIdentity(
  { bus, clock, config, receiptKeys }: Pick<Deps, 'bus' | 'clock' | 'config' | 'receiptKeys'>,
  signer: Peer,
  deletion: Deletion,
) {
  const { homeUserId, homeInstance, mode, requestId } = deletion
  const identity = { homeUserId, homeInstance: homeOf(signer, homeInstance), mode }
  try {
    await bus.request(deleteFederatedIdentity, identity, { requestId, timeoutMs: policy.deleteCallTimeoutMs })
  } catch (error) {
    if (!isRefusal(error) || error.code !== 'owns_spaces') throw error
    const fields = { ownedSpaces: ownedSpaces.parse(error.fields['ownedSpaces'] ?? []) }
    throw refuse.owns_spaces({ fields, cause: error })
  }
  return signReceipt(receiptKeys, { homeUserId, mode, deletedAt: clock.now(), origin: config.publicAddress.origin })
}

type Stub = z.infer<typeof resolveStubBody> & { requestId?: string | undefined }

/** Throws foreign_identity, not_found. Contract: 7, stubs. */
export async function resolveStub({ bus }: Pick<Deps, 'bus'>, signer: Peer, { requestId, ...stub }: Stub) {
  const identity = { ...stub, homeInstance: homeOf(signer, stub.homeInstance) }
  return await bus.request(resolveReplicatedUser, identity, { requestId, timeoutMs: policy.identityCallTimeoutMs })
}

/** A peer acts for its own host only. Throws foreign_identity. Contract: 7, identity. */
function homeOf({ host }: Peer, homeInstance: string): string {
  if (hostOf(homeInstance) !== host) throw refuse.foreign_identity()
  return host
}

type Asker = Pick<Peer, 'origin'>
type LookupDeps = Pick<Deps, 'orm' | 'clock'>

/** Ignores discoverability. Throws user_not_found. protocol.md 4.3. */
export async function lookUpByName(deps: LookupDeps, asker: Asker, username: string): Promise<RemoteUser> {
  const user = await tell(deps, asker, { username: username.trim().toLowerCase() })
  if (!user) throw refuse.user_not_found({ fields: { found: false } })
  return user
}

export async function lookUpById(deps: LookupDeps, asker: Asker, id: string): Promise<RemoteUser | null> {
  if (!/^[0-9]{1,19}$/.test(id) || BigInt(id) > 9_223_372_036_854_775_807n) return null
  return await tell(deps, asker, { id })
}

async function tell(deps: LookupDeps, asker: Asker, where: Parameters<typeof findNativeUser>[1]) {
  const em = deps.orm.em.fork()
  const user = await findNativeUser(em, where)
  if (!user) return null
  const isKnown = (await em.count(ProfileAsker, { userId: user.id, origin: asker.origin })) > 0
  const visibleUser = isKnown
    ? user
    : await transaction(deps.orm, (change) => rememberAsker(deps, change, { user, asker }))
  return visibleUser && describe(visibleUser)
}

type FirstLookup = { user: NativeUser; asker: Asker }

/**
 * The peers that asked hear what an admin decides about the user. The lock waits for a decision under way, which does not see
 * this asker. Null: the user was deleted meanwhile. Contract: 7, Account states.
 */
async function rememberAsker({ clock }: LookupDeps, em: EntityManager, { user: { id }, asker }: FirstLookup) {
  await em.findOne(User, { id }, { fields: ['id'], lockMode: LockMode.PESSIMISTIC_READ })
  const user = await findNativeUser(em, { id })
  if (!user) return null
  const sql = 'insert into profile_askers (user_id, origin) values (?, ?) on conflict do nothing'
  await changeRows(em, sql, [id, asker.origin])
  const { suspendedAt, suspensionChangedAt: version } = user
  if (suspendedAt == null || version == null) return user
  await queueDeliveries(em, { userId: id, origins: new Set([asker.origin]), version, now: clock.now() })
  return user
}

function describe(user: NativeUser): RemoteUser {
  const fields = Object.fromEntries(lookupFields.map((field) => [field, user[field] ?? null]))
  const profileUpdatedAt = user.profileUpdatedAt || user.createdAt.getTime()
  const profile = { ...fields, status: user.status, profileUpdatedAt } as RemoteUser['profile']
  return { homeUserId: user.id, username: user.username, profile }
}

/** One statement: only one asker succeeds. All failures read alike. protocol.md 4.6, step 3. */
export async function consumeAttachProof(
  { orm, clock }: Pick<Deps, 'orm' | 'clock'>,
  { token, targetDomain }: { token: string; targetDomain: string },
): Promise<z.infer<typeof attachProofReply>> {
  const [user] = await read<{ homeUserId: string; username: string }>(
    orm.em.fork(),
    `with used as (
       delete from attach_proofs where token_hash = ? and target_domain = ? and expires_at > ? returning user_id)
     select u.id::text as "homeUserId", u.username from used join users u on u.id = used.user_id
     where not u.is_deleted and u.suspended_at is null and u.home_instance is null and u.former_home_instance is null`,
    [hashToken(token), targetDomain, new Date(clock.now())],
  )
  return user ? { valid: true, ...user } : { valid: false }
}
