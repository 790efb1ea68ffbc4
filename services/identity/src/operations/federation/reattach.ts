import {
  baseUsername,
  isFederatedUsername,
  limits,
  lookUpByHomeId,
  normalizeUsername,
  pictureFields,
  profileChanged,
  verifyAttachProof,
} from '@gatehouse/contracts'
import { runTransaction, violates } from '@gatehouse/database'
import { User, accountStateOf, assertCurrent, type ActingCaller } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { policy } from '../../policy.ts'
import { lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../account-events.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from '../deletion/delete-locked-account.ts'
import { textsOf } from './apply-remote-profiles.ts'
import { mergeStub } from './merge-stub.ts'
import type { RemotePictures } from './remote-pictures.ts'

type ReattachDeps = DeletionDeps & Pick<Deps, 'bus'> & { remotePictures: Pick<RemotePictures, 'fetchLater'> }
type Reattachment = { caller: ActingCaller; token: string; requestId?: string | undefined }
type NewIdentity = { homeInstance: string; homeUserId: string; username: string }
type Lookup = z.infer<typeof lookUpByHomeId.reply>

/**
 * Binds a detached account to the account that its owner has registered anew at its former home, which confirms the token.
 * What a stub of the new identity has here becomes the account's. Throws not_detached, home_not_peered, home_unreachable,
 * proof_invalid, identity_held, admin_stays_local, account_deleted, token_revoked. federation-wire.md 4, attach 2-4.
 */
export async function reattach(deps: ReattachDeps, { caller, token, requestId }: Reattachment): Promise<User> {
  const found = await deps.orm.em.fork().findOne(User, { id: caller.userId, isDeleted: false })
  if (!found) throw refuse.account_deleted()
  const identity = await proveIdentity(deps, { user: requireDetached(found), token, requestId })
  const lookup = await askProfile(deps, identity, requestId)
  const bind = (em: EntityManager) => bindIdentity(deps, em, { caller, identity, lookup, requestId })
  try {
    const { user, stubState } = await runTransaction(deps.orm, bind, { accountId: caller.userId })
    if (stubState) await finishDeletion(deps, stubState)
    await deps.afterCommit.invalidateCache(accountStateOf(user))
    fetchPictures(deps, user, lookup)
    return user
  } catch (error) {
    if (violates(error, 'users_identity_unique')) throw refuse.identity_held({ cause: error })
    throw error
  }
}

type DetachedUser = User & { formerHomeInstance: string }

function requireDetached(user: User): DetachedUser {
  if (!user.federationHomeOrphaned || !user.formerHomeInstance) throw refuse.not_detached()
  if (user.isAdmin) throw refuse.admin_stays_local()
  return user as DetachedUser
}

type Proof = { user: DetachedUser; token: string; requestId: string | undefined }

async function proveIdentity({ bus }: ReattachDeps, { user, token, requestId }: Proof): Promise<NewIdentity> {
  const host = user.formerHomeInstance
  const options = { requestId, timeoutMs: policy.lookupCallTimeoutMs }
  const { outcome, homeUserId, username } = await bus.request(verifyAttachProof, { host, token }, options)
  if (outcome === 'no_peer') throw refuse.home_not_peered()
  if (outcome === 'unreachable') throw refuse.home_unreachable()
  const isUsable = homeUserId !== undefined && homeUserId.length >= 1 && homeUserId.length <= limits.homeUserIdMax
  if (outcome !== 'valid' || !isUsable) throw refuse.proof_invalid()
  const renamed = `${baseUsername(normalizeUsername(username ?? ''))}@${host}`
  return { homeInstance: host, homeUserId, username: isFederatedUsername(renamed) ? renamed : user.username }
}

/** The profile is welcome, and its lack is no obstacle. */
async function askProfile(
  { bus, log }: ReattachDeps,
  { homeInstance: host, homeUserId }: NewIdentity,
  requestId: string | undefined,
): Promise<Lookup | undefined> {
  try {
    return await bus.request(lookUpByHomeId, { host, homeUserId }, { requestId, timeoutMs: policy.lookupCallTimeoutMs })
  } catch (error) {
    log.warn({ err: error, host, requestId }, 'profile of a reattached account not asked')
    return undefined
  }
}

type Binding = {
  caller: ActingCaller
  identity: NewIdentity
  lookup: Lookup | undefined
  requestId: string | undefined
}

async function bindIdentity(deps: ReattachDeps, em: EntityManager, binding: Binding) {
  const { caller, identity, lookup, requestId } = binding
  const user = await lockUser(em, caller.userId)
  assertCurrent(user, caller)
  if (requireDetached(user).formerHomeInstance !== identity.homeInstance) throw refuse.proof_invalid()
  const stubState = await endStub(deps, em, { accountId: user.id, identity, requestId })
  const owner = await em.findOne(User, { username: identity.username }, { fields: ['id'] })
  const isFree = !owner || owner.id === user.id
  user.reattachToHome({ ...identity, username: isFree ? identity.username : user.username })
  const profile = lookup?.outcome === 'found' ? lookup.profile : undefined
  const texts = textsOf(profile ?? {})
  Object.assign(user, texts)
  await em.flush()
  const changed = ['homeInstance', 'homeUserId', 'federationHomeOrphaned', 'username', ...Object.keys(texts)]
  const facts = { state: accountStateOf(user), at: deps.clock.now(), profileUpdatedAt: user.profileUpdatedAt, changed }
  await recordAccountEvent(em, deps, profileChanged, { ...facts, requestId })
  return { user, stubState }
}

/** Another real account of the identity is not touched. Throws identity_held. */
async function endStub(
  deps: ReattachDeps,
  em: EntityManager,
  { accountId, identity, requestId }: Pick<Binding, 'identity' | 'requestId'> & { accountId: string },
) {
  const { homeInstance, homeUserId } = identity
  const holder = await em.findOne(User, { homeInstance, homeUserId, isDeleted: false })
  if (!holder) return undefined
  const stub = await lockUser(em, holder.id)
  if (!stub || stub.isDeleted) return undefined
  if (!stub.isStub()) throw refuse.identity_held()
  await mergeStub(em, { stubId: stub.id, accountId })
  const deletion = await deleteLockedAccount(deps, em, { user: stub, mode: 'soft', actor: null, requestId })
  if (deletion.ownedSpaces) throw refuse.identity_held()
  return deletion.state
}

function fetchPictures({ remotePictures }: ReattachDeps, user: User, lookup: Lookup | undefined): void {
  for (const field of pictureFields) {
    const url = lookup?.profile?.[field]
    const origin = url ? URL.parse(url)?.origin : undefined
    if (url && origin) remotePictures.fetchLater({ user, field, url, origin })
  }
}
