import { findInvite, type InstanceSettings } from '@gatehouse/domain'
import type { IdentityConfig } from '../../config.ts'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { loadSettings } from '../../queries/load-settings.ts'

/** Whether local registration needs no invite: the settings decide, else the environment. Spec: Registration 3. */
export function isRegistrationOpen(
  settings: Pick<InstanceSettings, 'registrationOpen'>,
  config: Pick<IdentityConfig, 'registrationOpen'>,
): boolean {
  return settings.registrationOpen ?? config.registrationOpen
}

/**
 * Checks the gate of local registration. Gives the token of the invite to redeem, or null while the gate is open and the
 * token is ignored. An unusable token is refused before the password is hashed; the redemption decides. Throws
 * invite_required, invite_invalid. Spec: Registration 4, 7.
 */
export async function checkLocalRegistrationOpen(
  { orm, clock, config }: OperationContext & Pick<Deps, 'config'>,
  inviteToken: unknown,
): Promise<string | null> {
  if (isRegistrationOpen(await loadSettings(orm.em), config)) return null
  if (inviteToken === undefined || inviteToken === null || inviteToken === '') throw refuse.invite_required()
  if (typeof inviteToken !== 'string') throw refuse.invite_invalid()
  const found = await findInvite(orm.em.fork(), { token: inviteToken, now: clock.now() })
  if (found?.status !== 'active') throw refuse.invite_invalid()
  return inviteToken
}

/** Checks the gate of federated registration; no invite opens it. Throws federated_registration_closed. Spec: Registration 5, 7. */
export async function checkFederatedRegistrationOpen({ orm }: Pick<OperationContext, 'orm'>): Promise<void> {
  const { federatedRegistrationOpen } = await loadSettings(orm.em)
  if (!federatedRegistrationOpen) throw refuse.federated_registration_closed()
}
