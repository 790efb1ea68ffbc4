import { commonResources, encryptionConfig, publicAddress, readFederation } from '@gatehouse/service-kit'
import { readSettings, serviceConfig } from '@gatehouse/service-kit'
import type { EncryptionConfig, FederationReach, PublicAddress, ServiceConfig } from '@gatehouse/service-kit'

export type OpenidConfig = ServiceConfig & EncryptionConfig & { publicAddress: PublicAddress; reach: FederationReach }

/** Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  return readSettings('openid', environment, (settings, part) => {
    const config: OpenidConfig = {
      ...part(serviceConfig),
      ...encryptionConfig(settings),
      port: settings.OPENID_PORT,
      publicAddress: part(publicAddress),
      reach: part(readFederation),
    }
    return { config, resources: { ...part(commonResources), postgres: { url: settings.DATABASE_URL } } }
  })
}
