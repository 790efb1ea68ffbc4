import { readAccountStates } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { AccountState, DeletionMode } from '@gatehouse/contracts'
import { anonymizeUser, releaseUserFiles } from './anonymize-user.ts'
import { deleteRelations } from './delete-relations.ts'
import { leaveDirectMessages } from './leave-direct-messages.ts'
import type { OptionalTable } from './optional-tables.ts'
import { purgeSpaceContent } from './purge-content.ts'

type Tombstone = {
  userId: string
  /** `soft` keeps the message history. */
  mode: DeletionMode
  optional: ReadonlySet<OptionalTable>
  passwordHash: string
  /** Milliseconds since the epoch. */
  now: number
}

/**
 * Deletes an account inside the transaction of `em`: set-based, so that no row of content comes here, and with locks in
 * one order, so that any number of tombstones can run at once. Files to remove are recorded. Gives the account's last
 * state. The caller has locked the user. Spec: Tombstone; Design: invariant 4.
 */
export async function tombstoneUser(em: EntityManager, given: Tombstone): Promise<AccountState> {
  const { userId, mode, optional, passwordHash, now } = given
  if (mode === 'full') await purgeSpaceContent(em, userId)
  await deleteRelations(em, userId, optional)
  await leaveDirectMessages(em, userId, mode)
  await releaseUserFiles(em, userId)
  await anonymizeUser(em, userId, { passwordHash, now })
  const [state] = await readAccountStates(em, [userId])
  return state!
}
