import { loadInstanceSettings, type InstanceSettings, findInvite, inviteUnavailable } from '@gatehouse/domain'
import type { IdentityConfig } from '../config.ts'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'

/** Whether anybody may make a local account: the settings decide, else the environment. Spec: Registration 3. */
export function isRegistrationOpen(
  settings: Pick<InstanceSettings, 'registrationOpen'>,
  config: Pick<IdentityConfig, 'registrationOpen'>,
): boolean {
  return settings.registrationOpen ?? config.registrationOpen
}

/**
 * Lets a local registration in. Gives the invite that it must use up, or null when the gate is open and the invite is
 * of no interest. The invite is looked at here to spare the hashing; what counts is its redemption. Throws
 * registration_closed, invite_unavailable. Spec: Registration 4, 7.
 */
export async function passLocalGate(
  { orm, clock, config }: Pick<Deps, 'orm' | 'clock' | 'config'>,
  inviteToken: unknown,
): Promise<string | null> {
  const em = orm.em.fork()
  if (isRegistrationOpen(await loadInstanceSettings(em), config)) return null
  if (inviteToken === undefined || inviteToken === null || inviteToken === '') throw refuse.registration_closed()
  if (typeof inviteToken !== 'string') throw inviteUnavailable()
  const found = await findInvite(em, { token: inviteToken, now: clock.now() })
  if (found?.status !== 'active') throw inviteUnavailable()
  return inviteToken
}

/**
 * Lets a federated registration in; no invite opens this gate. Throws federated_registration_closed.
 * Spec: Registration 5, 7.
 */
export async function passFederatedGate({ orm }: Pick<Deps, 'orm'>): Promise<void> {
  const { federatedRegistrationOpen } = await loadInstanceSettings(orm.em.fork())
  if (!federatedRegistrationOpen) throw refuse.federated_registration_closed()
}
