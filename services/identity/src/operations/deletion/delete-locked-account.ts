import { enqueue } from '@gatehouse/bus'
import {
  audiencePerEvent,
  deletedPresence,
  userDeleted,
  type AccountState,
  type DeletionMode,
} from '@gatehouse/contracts'
import { allowLongWork, changeRows, selectRows } from '@gatehouse/database'
import { accountStateOf, type Actor, type User } from '@gatehouse/domain'
import { randomToken } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { listPresentAudience } from '../../queries/list-present-audience.ts'
import { recordAccountEvent } from '../account-events.ts'
import { deleteRelations } from './delete-relations.ts'
import { leaveDirectMessages } from './leave-direct-messages.ts'
import { purgeSpaceContent } from './purge-content.ts'

// A deletion reads in its caller: lock the user, check, `deleteLockedAccount`, commit, `finishDeletion`.

export type DeletionDeps = OperationContext & Pick<Deps, 'afterCommit' | 'uploadCleanup'>

export type OwnedSpace = { id: string; name: string }

/** Either the spaces that stand against it, and then the caller refuses, or the state of the deleted account. */
type DeletionResult = { ownedSpaces: OwnedSpace[] } | { ownedSpaces: null; state: AccountState }

type Deletion = {
  /** Live, and locked by `lockUser`. */
  user: User
  /** `soft` keeps the message history. */
  mode: DeletionMode
  /** The admin, or null when the request is of the account itself or of its home instance. */
  actor: Actor | null
  requestId: string | undefined
}

/**
 * Tombstones an account in the transaction of `em`: set-based, so that no row of content comes here, and with locks in
 * one order, so that any number of deletions run at once. Files to remove are recorded, the event is in the outbox.
 * Spec: DELETE self 3, 4, Tombstone; Design: invariant 4.
 */
export async function deleteLockedAccount(
  deps: OperationContext,
  em: EntityManager,
  { user, mode, actor, requestId }: Deletion,
): Promise<DeletionResult> {
  await allowLongWork(em)
  const ownedBefore = await listOwnedSpaces(em, user.id)
  if (ownedBefore.length > 0) return { ownedSpaces: ownedBefore }
  // Now: it is unknown once the memberships are deleted.
  const audience = await listPresentAudience(em, user.id)

  if (mode === 'full') await purgeSpaceContent(em, user.id)
  await deleteRelations(em, user.id)
  await leaveDirectMessages(em, user.id, mode)
  await releaseUserFiles(em, user.id)
  const now = await deps.databaseTime(em)
  const passwordHash = `!deleted:${randomToken(deps.random, policy.unverifiableHashBytes)}`
  user.becomeTombstone({ passwordHash, now })
  await em.flush()

  // Again: the transaction of a new space holds a lock that the flush has waited for, and the space is visible now.
  const ownedAfter = await listOwnedSpaces(em, user.id)
  if (ownedAfter.length > 0) return { ownedSpaces: ownedAfter }
  const facts = { state: accountStateOf(user), at: now, actor, mode, requestId }
  const first = audience.slice(0, audiencePerEvent)
  const state = await recordAccountEvent(em, deps, userDeleted, { ...facts, audience: first })
  for (let from = audiencePerEvent; from < audience.length; from += audiencePerEvent) {
    const payload = { userId: user.id, at: now, audience: audience.slice(from, from + audiencePerEvent) }
    await enqueue(em, deletedPresence, payload, { id: deps.random.uuid(), requestId })
  }
  return { ownedSpaces: null, state }
}

/** After the commit: no token of the account is accepted when it resolves, and its files have left the disk, or soon will. */
export async function finishDeletion({ afterCommit, uploadCleanup }: DeletionDeps, state: AccountState): Promise<void> {
  await afterCommit.invalidateCache(state)
  await uploadCleanup.removeRecordedFiles({ atMost: policy.filesRemovedAtOnce })
}

/** Spaces have to be transferred or deleted before their owner's account is. Spec: DELETE self 3. */
async function listOwnedSpaces(em: EntityManager, userId: string): Promise<OwnedSpace[]> {
  const sql = 'select id::text as id, name from spaces where owner_id = ? order by spaces.id'
  return await selectRows<OwnedSpace>(em, sql, [userId])
}

/** Records every file of the user for removal: avatar, banner and unclaimed uploads. Spec: Tombstone. */
async function releaseUserFiles(em: EntityManager, userId: string): Promise<void> {
  await changeRows(
    em,
    `with deleted as (delete from uploads where user_id = ? returning filename)
     insert into file_removals (filename)
     select filename from deleted
     union select avatar from users where id = ? and avatar is not null
     union select banner from users where id = ? and banner is not null`,
    [userId, userId, userId],
  )
}
