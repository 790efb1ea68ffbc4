import { instanceProfileNames, type InstanceProfile } from '@gatehouse/contracts'
import { version } from '@gatehouse/service-kit'
import type { IdentityConfig } from '../config.ts'
import { isRegistrationOpen, type PlainSettings } from '../queries/load-settings.ts'

/** Contract: 3. */
export function instanceReply(settings: PlainSettings, config: Pick<IdentityConfig, 'registrationOpen'>) {
  return {
    name: settings.instanceName,
    ...profileOf(settings),
    version,
    registrationOpen: isRegistrationOpen(settings, config),
    federatedRegistrationOpen: settings.federatedRegistrationOpen,
    instanceId: settings.instanceId,
    ...chatFeatures,
  }
}

const profileOf = (settings: PlainSettings) =>
  Object.fromEntries(instanceProfileNames.map((name) => [name, settings[name] ?? null])) as InstanceProfile

/** Of chat servers. federation-wire-2.md 5, info. */
const chatFeatures = {
  directoryConfigured: false,
  directoryAvailable: false,
  directoryEnabled: false,
  supportCardEnabled: false,
} as const

/** Existing clients ask for these. Contract: 5. */
const fixedSettings = {
  discoveryEnabled: false,
  gifEnabled: false,
  federationRelayEnabled: true,
  federationRelayTtlDays: 30,
  defaultAutoRotateIntervalDays: 90,
  maxUploadSizeMb: 8,
} as const

/** Contract: 5. */
export function settingsReply(settings: PlainSettings) {
  const { instanceName, registrationOpen, federatedRegistrationOpen } = settings
  const { autoAcceptPeering, stubUpgradesNeedProof, requireSecondFactorForAdmins } = settings
  return {
    instanceName,
    ...profileOf(settings),
    registrationOpen: registrationOpen ?? null,
    federatedRegistrationOpen,
    autoAcceptPeering,
    stubUpgradesNeedProof,
    requireSecondFactorForAdmins,
    ...fixedSettings,
  }
}
