import { enqueue } from '@gatehouse/bus'
import { audiencePerEvent, deletedPresence, userDeleted } from '@gatehouse/contracts'
import type { AccountState, DeletionMode } from '@gatehouse/contracts'
import { allowLongWork, bigintArray, changeRows, read } from '@gatehouse/database'
import type { Actor, User } from '@gatehouse/domain'
import { randomToken } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { recordAccountEvent } from '../change-account.ts'
import { deleteRelations, leaveDirectMessages, purgeSpaceContent } from './delete-rows.ts'
import { blockedBySpaces, openUpstreamDeletions, type Blocked, type OwnedSpace } from './upstream-deletions.ts'

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

/** Spec: DELETE self 3. */
async function refuseOwnedSpaces(em: EntityManager, userId: string, blocked: Blocked): Promise<void> {
  const sql = 'select id::text as id, name from spaces where owner_id = ? order by spaces.id'
  const owned = await read<OwnedSpace>(em, sql, [userId])
  if (owned.length > 0) throw blocked(owned)
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
