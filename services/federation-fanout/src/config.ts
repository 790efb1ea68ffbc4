import { commonResources, encryptionConfig, publicAddress, readFederation } from '@gatehouse/service-kit'
import { readSettings, serviceConfig } from '@gatehouse/service-kit'
import type { EncryptionConfig, FederationReach, PublicAddress, ServiceConfig } from '@gatehouse/service-kit'

export type FederationFanoutConfig = ServiceConfig &
  EncryptionConfig & {
    publicAddress: PublicAddress
    reach: FederationReach
  }

/** Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  return readSettings('federation-fanout', environment, (settings, part) => {
    const config: FederationFanoutConfig = {
      ...part(serviceConfig),
      ...encryptionConfig(settings),
      port: settings.FEDERATION_FANOUT_PORT,
      publicAddress: part(publicAddress),
      reach: part(readFederation),
    }
    const postgres = { url: settings.DATABASE_URL, needsWrites: true }
    return { config, resources: { ...part(commonResources), postgres } }
  })
}
