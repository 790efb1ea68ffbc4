import { version } from '@gatehouse/service-kit'
import type { IdentityConfig } from '../config.ts'
import { isRegistrationOpen, type PlainSettings } from '../queries/load-settings.ts'

/** Contract: 3. */
export function instanceReply(settings: PlainSettings, config: Pick<IdentityConfig, 'registrationOpen'>) {
  return {
    name: settings.instanceName,
    version,
    registrationOpen: isRegistrationOpen(settings, config),
    federatedRegistrationOpen: settings.federatedRegistrationOpen,
    instanceId: settings.instanceId,
  }
}

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
  const { instanceName, registrationOpen, federatedRegistrationOpen, autoAcceptPeering } = settings
  return {
    instanceName,
    registrationOpen: registrationOpen ?? null,
    federatedRegistrationOpen,
    autoAcceptPeering,
    ...fixedSettings,
  }
}
