import { normalizeHost, profileChanged } from '@gatehouse/contracts'
import { runTransaction, selectRows } from '@gatehouse/database'
import { accountStateOf } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../account-events.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from '../deletion/delete-locked-account.ts'

type LostHome = { host: string; requestId?: string | undefined }

/**
 * Replicas of the home that was lost: those of before another instance was seen at its origin. Later ones are the new
 * home's, which goes on to decide over them. federation-wire.md 2.6, marks.
 */
const formerReplicas = `
  select id::text as id from users
  where home_instance = ? and not is_deleted and created_at <= (
    select max(coalesce(seen_at, 'infinity')) from peer_resets where host = ? and new_instance_id is not null)
  order by users.id`

/**
 * Ends what a home instance left that was lost and set up anew: its stubs are tombstoned, their messages stay; its real
 * accounts become local. Each is a transaction of its own, so that a repetition goes on where an earlier call ended; one
 * that comes after the reset was settled finds nothing. Contract: 7, detached accounts.
 */
export async function detachHome(
  deps: DeletionDeps,
  { host, requestId }: LostHome,
): Promise<{ tombstoned: number; detached: number }> {
  const home = normalizeHost(host)
  const replicas = await selectRows<{ id: string }>(deps.orm.em.fork(), formerReplicas, [home, home])
  const done = { tombstoned: 0, detached: 0 }
  for (const { id } of replicas) {
    const outcome = await endReplica(deps, id, requestId)
    if (outcome !== 'unchanged') done[outcome] += 1
  }
  deps.afterCommit.publishEvents()
  return done
}

async function endReplica(deps: DeletionDeps, userId: string, requestId: string | undefined) {
  const end = async (em: EntityManager) => {
    const user = await lockUser(em, userId)
    if (!user || user.isDeleted || user.isLocal()) return { outcome: 'unchanged', state: null } as const
    if (!user.isStub()) {
      await detach(deps, em, { user, requestId })
      return { outcome: 'detached', state: null } as const
    }
    // A stub owns no spaces: only an account that has signed in can make one.
    const deletion = await deleteLockedAccount(deps, em, { user, mode: 'soft', actor: null, requestId })
    if (deletion.ownedSpaces) throw new Error(`stub ${userId} owns spaces`)
    return { outcome: 'tombstoned', state: deletion.state } as const
  }
  const { outcome, state } = await runTransaction(deps.orm, end, { accountId: userId })
  if (state) await finishDeletion(deps, state)
  return outcome
}

type Detachment = { user: NonNullable<Awaited<ReturnType<typeof lockUser>>>; requestId: string | undefined }

async function detach(deps: OperationContext, em: EntityManager, { user, requestId }: Detachment): Promise<void> {
  user.detachFromHome()
  await em.flush()
  const { profileUpdatedAt } = user
  const changed = ['homeInstance', 'homeUserId', 'federationHomeOrphaned']
  const facts = { state: accountStateOf(user), at: deps.clock.now(), profileUpdatedAt, changed, requestId }
  await recordAccountEvent(em, deps, profileChanged, facts)
}
