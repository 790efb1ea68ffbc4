import { version } from '@gatehouse/service-kit'
import type { IdentityConfig } from '../config.ts'
import { isRegistrationOpen } from '../operations/registration/registration-gates.ts'
import type { PlainSettings } from '../queries/load-settings.ts'

/** The instance's public facts; the gate as it applies, not as it is stored. Contract: 3. */
export function instanceReply(settings: PlainSettings, config: Pick<IdentityConfig, 'registrationOpen'>) {
  return {
    name: settings.instanceName,
    version,
    registrationOpen: isRegistrationOpen(settings, config),
    federatedRegistrationOpen: settings.federatedRegistrationOpen,
    instanceId: settings.instanceId,
  }
}

/** What existing clients ask for beside our own settings. Contract: 5. */
const fixedSettings = {
  discoveryEnabled: false,
  gifEnabled: false,
  federationRelayEnabled: true,
  federationRelayTtlDays: 30,
  defaultAutoRotateIntervalDays: 90,
  maxUploadSizeMb: 8,
} as const

/** The settings as admins see them. Contract: 5. */
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
