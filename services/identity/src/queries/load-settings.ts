import { instanceProfileNames } from '@gatehouse/contracts'
import { batchedRead } from '@gatehouse/database'
import { InstanceSettings } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { IdentityConfig } from '../config.ts'

const gates = [
  'registrationOpen',
  'federatedRegistrationOpen',
  'autoAcceptPeering',
  'stubUpgradesNeedProof',
  'requireSecondFactorForAdmins',
] as const

const readById = batchedRead({
  name: 'instance_settings',
  entity: InstanceSettings,
  properties: [...gates, 'id', 'instanceId', 'instanceName', ...instanceProfileNames],
  key: 'id',
})

export type PlainSettings = NonNullable<Awaited<ReturnType<typeof readById>>>

/** For reads outside of transactions. Spec: Instance settings. */
export async function loadSettings(em: EntityManager): Promise<PlainSettings> {
  const settings = await readById(em, '1')
  if (!settings) throw new Error('the database has no settings')
  return settings
}

/** The environment decides while the settings do not. Spec: Registration 3. */
export function isRegistrationOpen(
  settings: Pick<InstanceSettings, 'registrationOpen'>,
  config: Pick<IdentityConfig, 'registrationOpen'>,
): boolean {
  return settings.registrationOpen ?? config.registrationOpen
}
