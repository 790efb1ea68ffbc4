import type { Deps } from '../deps.ts'
import { lockUser } from '../queries/lock-user.ts'
import { storedPlaces, withoutOrigins } from './replicated-instances.ts'

type Input = { userId: string; origins: readonly string[] }

/** Drops places where the user's identity has been deleted; a user who is gone has none. Contract: 7, fan-out. */
export async function forgetReplicatedInstances({ orm }: Pick<Deps, 'orm'>, { userId, origins }: Input): Promise<void> {
  await orm.em.fork().transactional(async (em) => {
    const user = await lockUser(em, userId)
    if (!user || user.isDeleted) return
    const kept = withoutOrigins(user, origins)
    if (kept.length < storedPlaces(user).length) user.replicatedInstances = JSON.stringify(kept)
  })
}
