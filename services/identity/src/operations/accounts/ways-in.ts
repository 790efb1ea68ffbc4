import { LinkedIdentity, Passkey, type User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../../deps.ts'

/**
 * Call it after the removal of a way to log in, in its transaction. A passkey logs in, but confirms nothing. Throws
 * last_sign_in_method. Contract: 3, Identity providers.
 */
export async function requireWayIn({ config }: Pick<Deps, 'config'>, em: EntityManager, user: User): Promise<void> {
  const userId = user.id
  if ((await em.count(LinkedIdentity, { userId })) > 0) return
  if (!user.hasPassword) throw refuse.last_sign_in_method()
  if (!config.passwords && (await em.count(Passkey, { userId })) === 0) throw refuse.last_sign_in_method()
}

/** At a new password for who lost the old one: who had that may have added them. Contract: 3, Identity providers, Passkeys. */
export async function removeOtherWaysIn(
  { config }: Pick<Deps, 'config'>,
  em: EntityManager,
  user: User,
): Promise<void> {
  const userId = user.id
  await em.nativeDelete(Passkey, { userId })
  if (user.hasPassword && config.passwords) await em.nativeDelete(LinkedIdentity, { userId })
}
