import type { InstanceSettings } from '@gatehouse/domain'
import { version } from '@gatehouse/service-kit'
import type { IdentityConfig } from '../config.ts'
import { isRegistrationOpen } from '../operations/registration-gates.ts'

/** What anybody may know of this instance; the gate as it stands, not as it is stored. Contract: 3. */
export function instanceReply(settings: InstanceSettings, config: Pick<IdentityConfig, 'registrationOpen'>) {
  return {
    name: settings.instanceName,
    version,
    registrationOpen: isRegistrationOpen(settings, config),
    federatedRegistrationOpen: settings.federatedRegistrationOpen,
    instanceId: settings.instanceId,
  }
}
