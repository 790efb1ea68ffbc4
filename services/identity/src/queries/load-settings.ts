import { instanceProfileNames } from '@gatehouse/contracts'
import { batchedRead } from '@gatehouse/database'
import { InstanceSettings } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'

const readById = batchedRead({
  name: 'instance_settings',
  entity: InstanceSettings,
  properties: [
    ...(['id', 'instanceId', 'instanceName', ...instanceProfileNames] as const),
    ...(['registrationOpen', 'federatedRegistrationOpen', 'autoAcceptPeering'] as const),
    ...(['stubUpgradesNeedProof', 'requireSecondFactorForAdmins', 'reservedUsernames'] as const),
    ...(['approvalRequired', 'askReason', 'denialBlockHours', 'firstAdminId'] as const),
    ...(['proofOfWork', 'memberInvites', 'openidEnabled'] as const),
  ],
  key: 'id',
})

export type PlainSettings = NonNullable<Awaited<ReturnType<typeof readById>>>

/** For reads outside of transactions. Spec: Instance settings. */
export async function loadSettings(em: EntityManager): Promise<PlainSettings> {
  const settings = await readById(em, '1')
  if (!settings) throw new Error('the database has no settings')
  return settings
}

type Gate = Pick<PlainSettings, 'registrationOpen'>

/** The environment decides while the settings do not. Spec: Registration 3. */
export function isRegistrationOpen(settings: Gate, config: { registrationOpen: boolean }): boolean {
  return settings.registrationOpen ?? config.registrationOpen
}
