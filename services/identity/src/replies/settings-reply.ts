import type { InstanceSettings } from '@gatehouse/domain'

/** What admins see of the settings. Contract: 5. */
export function settingsReply(settings: InstanceSettings) {
  const { instanceName, registrationOpen, federatedRegistrationOpen, autoAcceptPeering } = settings
  return { instanceName, registrationOpen: registrationOpen ?? null, federatedRegistrationOpen, autoAcceptPeering }
}
