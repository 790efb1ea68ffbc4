import { findInvite } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Deps, OperationContext } from '../../deps.ts'
import { isRegistrationOpen, loadSettings } from '../../queries/load-settings.ts'

/**
 * Returns the token of the invite to redeem, or null while the gate is open. The redemption decides. Throws
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

/** No invite opens it. Throws federated_registration_closed. Spec: Registration 5, 7. */
export async function checkFederatedRegistrationOpen({ orm }: Pick<OperationContext, 'orm'>): Promise<void> {
  const { federatedRegistrationOpen } = await loadSettings(orm.em)
  if (!federatedRegistrationOpen) throw refuse.federated_registration_closed()
}
