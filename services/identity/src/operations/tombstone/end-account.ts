import { readPresentAudience } from '@gatehouse/database'
import type { DeletionMode } from '@gatehouse/contracts'
import { type User } from '@gatehouse/domain'
import { randomToken, type Refusal } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { lockUser } from '../../queries/lock-user.ts'
import { removeRecordedFiles } from '../../uploads/recorded-files.ts'
import { enqueueAccountChange, settleAccountChange } from '../account-change.ts'
import { findOptionalTables } from './optional-tables.ts'
import { listOwnedSpaces, type OwnedSpace } from './owned-spaces.ts'
import { repeatOnDeadlock } from './repeat-on-deadlock.ts'
import { tombstoneUser } from './tombstone-user.ts'

export type EndingNeeds = Pick<Deps, 'orm' | 'clock' | 'random' | 'config' | 'log' | 'relay' | 'announcer'>

type Ending = {
  userId: string
  mode: DeletionMode
  requestId?: string | undefined
  /** Looks at the locked account, null when there is none. Throws to refuse; whatever it writes is one with the deletion. */
  confirm(user: User | null, em: EntityManager): User
  refuseOwner(spaces: OwnedSpace[]): Refusal
}

/**
 * Ends an account for good, whoever asked: tombstone and events in one transaction, then caches, then files. When it
 * resolves, no token of the account counts any more. Throws what `confirm` and `refuseOwner` give. Spec: DELETE self 3, 4.
 */
export async function endAccount(deps: EndingNeeds, ending: Ending): Promise<void> {
  const { orm, random, clock } = deps
  const optional = await findOptionalTables(orm.em.fork())
  const state = await repeatOnDeadlock(() =>
    orm.em.fork().transactional(async (em) => {
      const { id: userId } = ending.confirm(await lockUser(em, ending.userId), em)
      await refuseOwner(em, ending)
      const passwordHash = `!deleted:${randomToken(random, policy.unverifiableHashBytes)}`
      const audience = await listPresentAudience(em, userId)
      const gone = await tombstoneUser(em, { userId, mode: ending.mode, optional, passwordHash, now: clock.now() })
      // Again: a space that was being made meanwhile has held up the row's change and is visible now.
      await refuseOwner(em, ending)
      const { requestId } = ending
      await enqueueAccountChange(em, deps, { state: gone, sessionsEnded: 'account_deleted', audience, requestId })
      return gone
    }),
  )
  await settleAccountChange(deps, state)
  await removeRecordedFiles(deps, { atMost: policy.filesRemovedAtOnce })
}

async function refuseOwner(em: EntityManager, ending: Ending): Promise<void> {
  const spaces = await listOwnedSpaces(em, ending.userId)
  if (spaces.length > 0) throw ending.refuseOwner(spaces)
}

/** Who may see the account's presence and is connected: nobody could tell after its memberships are gone. Contract: 6. */
async function listPresentAudience(em: EntityManager, userId: string): Promise<string[]> {
  const audience = await readPresentAudience(em, [userId])
  return [...new Set(audience.flatMap(({ recipients }) => recipients))].slice(0, policy.farewellAudience)
}
