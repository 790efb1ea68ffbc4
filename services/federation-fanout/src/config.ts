import { commonResources, encryptionConfig, publicAddress, readFederation } from '@gatehouse/service-kit'
import { readSettings, serviceConfig } from '@gatehouse/service-kit'
import type { EncryptionConfig, FederationReach, PublicAddress, ServiceConfig } from '@gatehouse/service-kit'

export type FederationFanoutConfig = ServiceConfig &
  EncryptionConfig & {
    publicAddress: PublicAddress
    reach: FederationReach
    /** No other process reads this database. */
    onlyReplica?: boolean
  }

/** Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const given = readSettings('federation-fanout', environment)
  const config: FederationFanoutConfig = {
    ...serviceConfig(given),
    ...encryptionConfig(given),
    port: given.FEDERATION_FANOUT_PORT,
    publicAddress: publicAddress(given),
    reach: readFederation(given),
  }
  return { config, resources: { ...commonResources(given), postgres: { url: given.DATABASE_URL, needsWrites: true } } }
}
