import { assertCallerCurrent, assertCurrent } from '@gatehouse/authority'
import { audiencePerEvent, deletedPresence, userDeleted } from '@gatehouse/contracts'
import type { AccountState, deleteSelfBody, DeletionMode } from '@gatehouse/contracts'
import { allowLongWork, bigintArray, changeRows, read, recordAudit, transaction } from '@gatehouse/database'
import { User, deletedUsername, type Actor } from '@gatehouse/domain'
import { enqueue } from '@gatehouse/outbox'
import { randomToken, refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { enqueueNotice } from '../../mail/outbox.ts'
import { policy } from '../../policy.ts'
import { loadCaller, lockLocalAdmins, lockUser, requireLive } from '../../queries/load-user.ts'
import { actorOf, changeSelf, recordAccountEvent, type AdminAct, type OwnAct } from '../change-account.ts'
import { verifyOwnPassword } from '../credentials/verify-password.ts'
import { revokeMemberInvites } from '../revoke-member-invites.ts'
import { orderDeletions } from './delete-remote-identities.ts'
import { deleteRelations, leaveDirectMessages, purgeSpaceContent } from './delete-rows.ts'
import { askBeforeDeletion, blockedBySpaces, openUpstreamDeletions } from './upstream-deletions.ts'
import type { Blocked, OwnedSpace } from './upstream-deletions.ts'

type OwnDeletion = z.infer<typeof deleteSelfBody> & OwnAct & { address: string }

const wrong = 'account_deletion_password_incorrect'

/** The last admin may delete the own account too: only the role is guarded. Spec: DELETE self 1-4. */
export async function deleteAccount(deps: DeletionDeps & Pick<Deps, 'hasher'>, deletion: OwnDeletion): Promise<void> {
  const { caller, username, requestId, ...confirmation } = deletion
  const verified = await loadCaller(deps, caller)
  if (username !== verified.username) throw refuse.username_confirmation_mismatch()
  const confirm = await verifyOwnPassword(deps, verified, { ...confirmation, wrong })
  const audience = await askBeforeDeletion(deps, verified)
  const state = await changeSelf(deps, caller, async (user, em) => {
    if (user.username !== username) throw refuse.username_confirmation_mismatch()
    await confirm(user, em)
    return await deleteLockedAccount(deps, em, { user, mode: 'full', actor: null, requestId, audience })
  })
  await finishDeletion(deps, state)
}

/**
 * An admin deletes another account, here in full. `mode` is that of the orders at peers; gives how many there are. Contract: 5,
 * DELETE users.
 */
export async function deleteUser(deps: DeletionDeps, act: AdminAct & { mode: DeletionMode }) {
  const { userId, actor, requestId, mode } = act
  if (userId === actor.userId) throw refuse.own_account()
  const stored = requireLive(await deps.orm.em.fork().findOne(User, { id: userId }))
  const audience = await askBeforeDeletion(deps, stored)
  const deletion = async (em: EntityManager) => {
    const target = await em.findOne(User, { id: userId })
    // Admins who delete each other wait here, and then find themselves deleted.
    if (target?.isAdmin) await lockLocalAdmins(em)
    if (actor.userId !== null) assertCurrent(await em.findOne(User, { id: actor.userId }), actor, { admin: true })
    const user = requireLive(await lockUser(em, userId))
    const wasAdmin = user.isAdmin
    // The tombstone names no instance.
    const instances = await orderDeletions(em, { user, mode }, deps.clock.now())
    const state = await deleteLockedAccount(deps, em, { user, mode: 'full', actor, requestId, audience })
    const at = new Date(deps.clock.now())
    recordAudit(em, { action: 'user.deleted', actor, target: { type: 'user', id: userId, name: deletedUsername }, at })
    await em.flush()
    if (wasAdmin && (await lockLocalAdmins(em)).length === 0) throw refuse.last_admin_deleted()
    // A change of the actor's password waits for this lock. A deletion may take long.
    await assertCallerCurrent(em, actor, { admin: true })
    return { state, instances }
  }
  const { state, instances } = await transaction(deps.orm, deletion, { accountId: userId })
  await finishDeletion(deps, state)
  return { success: true as const, instances }
}

export type DeletionDeps = OperationContext & Pick<Deps, 'uploadCleanup' | 'upstreams'>

type Deletion = {
  /** Locked by `lockUser`. */
  user: User
  /** `soft` keeps the message history. */
  mode: DeletionMode
  /** Null: the account itself or its home instance asked. */
  actor: Actor | null
  requestId: string | undefined
  /** What `askBeforeDeletion` gave. Nobody for a stub: who has never signed in shares nothing. */
  audience: readonly string[]
  blocked?: Blocked
}

/**
 * Call `finishDeletion` after the commit. Locks are taken in one order, so any number of deletions run at once. Throws
 * `blocked` while the account owns spaces. Spec: DELETE self 3, 4, Tombstone; Design: invariant 4.
 */
export async function deleteLockedAccount(deps: DeletionDeps, em: EntityManager, deletion: Deletion) {
  const { user, mode, actor, requestId, blocked = blockedBySpaces } = deletion
  await allowLongWork(em)
  await refuseOwnedSpaces(em, user.id, blocked)
  // The memberships, which are deleted below, tell the audience.
  const audience = await listPresentAudience(em, user.id, deletion.audience)
  if (mode === 'full') await purgeSpaceContent(em, user.id)
  await enqueueNotice(em, { user, kind: 'deleted', at: deps.clock.now() })
  // Before the name goes from the audit log.
  await revokeMemberInvites(deps, em, { user, actor: actor ?? actorOf(user), requestId })
  await deleteRelations(em, user.id)
  await leaveDirectMessages(em, user.id, mode)
  await releaseUserFiles(em, user.id)
  const at = await deps.databaseTime(em)
  const passwordHash = `!deleted:${randomToken(deps.random, policy.unverifiableHashBytes)}`
  user.becomeTombstone({ passwordHash, now: at })
  await em.flush()
  // The flush has waited for the lock of a transaction that makes a space.
  await refuseOwnedSpaces(em, user.id, blocked)
  await openUpstreamDeletions(em, deps, { userId: user.id, mode, at })
  const first = audience.slice(0, audiencePerEvent)
  const state = await recordAccountEvent(em, deps, userDeleted, { user, at, actor, mode, audience: first, requestId })
  for (let from = audiencePerEvent; from < audience.length; from += audiencePerEvent) {
    const payload = { userId: user.id, at, audience: audience.slice(from, from + audiencePerEvent) }
    await enqueue(em, deletedPresence, payload, { id: deps.random.uuid(), requestId })
  }
  return state
}

/** No token of the account is accepted when it resolves. The cleanup removes files that are left. */
export async function finishDeletion({ afterCommit, uploadCleanup }: DeletionDeps, state: AccountState): Promise<void> {
  await afterCommit.invalidateCache(state)
  await uploadCleanup.removeRecordedFiles()
}

/** A user who owns a space hands it over or deletes it first. Spec: DELETE self 3. */
async function refuseOwnedSpaces(em: EntityManager, userId: string, blocked: Blocked): Promise<void> {
  const sql = 'select id::text as id, name from spaces where owner_id = ? order by spaces.id'
  const ownedSpaces = await read<OwnedSpace>(em, sql, [userId])
  if (ownedSpaces.length > 0) throw blocked(ownedSpaces)
}

/** Avatar, banner and unclaimed uploads. Spec: Tombstone. */
async function releaseUserFiles(em: EntityManager, userId: string): Promise<void> {
  const sql = `with deleted as (delete from uploads where user_id = ? returning filename)
    insert into file_removals (filename)
    select filename from deleted
    union select avatar from users where id = ? and avatar is not null
    union select banner from users where id = ? and banner is not null`
  await changeRows(em, sql, [userId, userId, userId])
}

/** `others` may be anybody. Contract: 6, presence_update. */
async function listPresentAudience(em: EntityManager, userId: string, others: readonly string[]): Promise<string[]> {
  const sql = `with input as materialized (select ?::bigint as id), linked (user_id) as (
      select friend_id from friendships where user_id = (select id from input)
      union
      select user_id from friendships where friend_id = (select id from input)
      union
      select theirs.user_id from dm_members mine join dm_members theirs using (channel_id)
      where mine.user_id = (select id from input)
      union
      select theirs.user_id from space_members mine join space_members theirs using (space_id)
      where mine.user_id = (select id from input)
      union
      select unnest(?::bigint[])
    )
    select distinct user_id::text as id from linked join presences using (user_id)
    where user_id <> (select id from input)`
  const present = await read<{ id: string }>(em, sql, [userId, bigintArray(others)])
  return present.map(({ id }) => id)
}
