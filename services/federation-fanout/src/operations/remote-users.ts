import { signReceipt } from '@gatehouse/auth'
import {
  deleteFederatedIdentity,
  ownedSpaces,
  resolveReplicatedUser,
  type DeletionMode,
  type resolveStubBody,
  lookupFields,
  type RemoteUser,
  type attachProofReply,
} from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import type { Peer } from '@gatehouse/domain'
import { isRefusal, refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { hostOf, hashToken } from '../peers/signature.ts'
import { policy } from '../policy.ts'
import { findNativeUser, type NativeUser } from '../queries/native-users.ts'

type Identity = { homeUserId: string; homeInstance: string }
type Input = Identity & { mode: DeletionMode; requestId?: string | undefined }

type DeletionDeps = Pick<Deps, 'bus' | 'clock' | 'config' | 'receiptKeys'>

/**
 * Succeeds for a missing account. Gives the signed receipt. Throws foreign_identity, owns_spaces. Contract: 7, identity,
 * Receipts.
 */
export async function deleteIdentity(deps: DeletionDeps, signer: Peer, input: Input) {
  const { bus, clock, config, receiptKeys } = deps
  const { homeUserId, mode, requestId } = input
  const homeInstance = homeOf(signer, input)
  try {
    const options = { requestId, timeoutMs: policy.deleteCallTimeoutMs }
    await bus.request(deleteFederatedIdentity, { homeUserId, homeInstance, mode }, options)
  } catch (error) {
    if (!isRefusal(error) || error.code !== 'owns_spaces') throw error
    throw refuse.owns_spaces({
      fields: { ownedSpaces: ownedSpaces.parse(error.fields['ownedSpaces'] ?? []) },
      cause: error,
    })
  }
  const { origin } = config.publicAddress
  return signReceipt(receiptKeys, { homeUserId, mode, deletedAt: clock.now(), origin })
}

type Stub = z.infer<typeof resolveStubBody> & { requestId?: string | undefined }

/** Throws foreign_identity, not_found. Contract: 7, stubs; Spec: replicated-user resolver. */
export async function resolveStub({ bus }: Pick<Deps, 'bus'>, signer: Peer, input: Stub) {
  const { requestId, ...identity } = input
  const options = { requestId, timeoutMs: policy.identityCallTimeoutMs }
  return await bus.request(resolveReplicatedUser, { ...identity, homeInstance: homeOf(signer, input) }, options)
}

/** A peer acts for its own host only. Throws foreign_identity. Contract: 7. */
function homeOf(signer: Peer, { homeInstance }: Pick<Identity, 'homeInstance'>): string {
  if (hostOf(homeInstance) !== signer.host) throw refuse.foreign_identity()
  return signer.host
}

/** Ignores discoverability. Throws user_not_found. federation-wire.md 4, lookups. */
export async function lookUpByName({ orm }: Pick<Deps, 'orm'>, username: string): Promise<RemoteUser> {
  const user = await findNativeUser(orm.em.fork(), { username: username.trim().toLowerCase() })
  if (!user) throw refuse.user_not_found({ fields: { found: false } })
  return describe(user)
}

export async function lookUpById({ orm }: Pick<Deps, 'orm'>, id: string): Promise<RemoteUser | null> {
  if (!/^[0-9]{1,19}$/.test(id) || BigInt(id) > 9_223_372_036_854_775_807n) return null
  const user = await findNativeUser(orm.em.fork(), { id })
  return user ? describe(user) : null
}

function describe(user: NativeUser): RemoteUser {
  const fields = Object.fromEntries(lookupFields.map((field) => [field, user[field] ?? null]))
  const profileUpdatedAt = user.profileUpdatedAt || user.createdAt.getTime()
  const profile = { ...fields, status: user.status, profileUpdatedAt } as RemoteUser['profile']
  return { homeUserId: user.id, username: user.username, profile }
}

/** One statement: only one asker succeeds. All failures read alike. federation-wire.md 4, attach 3. */
export async function consumeAttachProof(
  { orm, clock }: Pick<Deps, 'orm' | 'clock'>,
  { token, targetDomain }: { token: string; targetDomain: string },
): Promise<z.infer<typeof attachProofReply>> {
  const em = orm.em.fork()
  const [user] = await read<{ homeUserId: string; username: string }>(
    em,
    `with used as (
       delete from attach_proofs where token_hash = ? and target_domain = ? and expires_at > ? returning user_id)
     select u.id::text as "homeUserId", u.username from used join users u on u.id = used.user_id
     where not u.is_deleted and u.suspended_at is null and u.home_instance is null and u.former_home_instance is null`,
    [hashToken(token), targetDomain, new Date(clock.now())],
  )
  return user ? { valid: true, ...user } : { valid: false }
}
