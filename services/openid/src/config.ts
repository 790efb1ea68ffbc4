import { commonResources, encryptionConfig, publicAddress, readFederation } from '@gatehouse/service-kit'
import { readSettings, serviceConfig } from '@gatehouse/service-kit'
import type { EncryptionConfig, FederationReach, PublicAddress, ServiceConfig } from '@gatehouse/service-kit'

export type OpenidConfig = ServiceConfig & EncryptionConfig & { publicAddress: PublicAddress; reach: FederationReach }

/** Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const given = readSettings('openid', environment)
  const config: OpenidConfig = {
    ...serviceConfig(given),
    ...encryptionConfig(given),
    port: given.OPENID_PORT,
    publicAddress: publicAddress(given),
    reach: readFederation(given),
  }
  return { config, resources: { ...commonResources(given), postgres: { url: given.DATABASE_URL } } }
}
