import { normalizeHost } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { changeUser, recordProfileChange } from '../change-account.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from '../deletion/delete-account.ts'

type LostHome = { host: string; requestId?: string | undefined }

/** Replicas made after another instance was seen belong to that one. protocol.md 2.6. */
const formerReplicas = `
  select id::text as id from users
  where home_instance = ? and not is_deleted and created_at <= (
    select max(coalesce(seen_at, 'infinity')) from peer_resets where host = ? and new_instance_id is not null)
  order by users.id`

/** Of a home set up anew: stubs are tombstoned, accounts become local. Repeatable. Contract: 7, detached accounts. */
export async function detachHome(deps: DeletionDeps, { host, requestId }: LostHome) {
  const home = normalizeHost(host)
  const replicas = await read<{ id: string }>(deps.orm.em.fork(), formerReplicas, [home, home])
  const done = { tombstoned: 0, detached: 0 }
  for (const { id } of replicas) {
    const outcome = await endReplica(deps, id, requestId)
    if (outcome !== 'unchanged') done[outcome] += 1
  }
  deps.afterCommit.publishEvents()
  return done
}

async function endReplica(deps: DeletionDeps, userId: string, requestId: string | undefined) {
  const { outcome, state } = await changeUser(deps, userId, async (user, em) => {
    if (!user || user.isDeleted || user.isLocal()) return { outcome: 'unchanged' as const }
    if (!user.isStub()) {
      user.detachFromHome()
      const changed = ['homeInstance', 'homeUserId', 'federationHomeOrphaned']
      await recordProfileChange(em, deps, { user, changed, requestId })
      return { outcome: 'detached' as const }
    }
    // Only an account that has signed in can make a space.
    const blocked = () => new Error(`stub ${userId} owns spaces`)
    const deletion = { user, mode: 'soft', actor: null, requestId, audience: [], blocked } as const
    return { outcome: 'tombstoned' as const, state: await deleteLockedAccount(deps, em, deletion) }
  })
  if (state) await finishDeletion(deps, state)
  return outcome
}
