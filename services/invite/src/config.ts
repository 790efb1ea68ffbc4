import {
  commonResources,
  publicAddress,
  readSettings,
  serviceConfig,
  type PublicAddress,
  type ServiceConfig,
} from '@gatehouse/service-kit'

export type InviteConfig = ServiceConfig & { publicAddress: PublicAddress }

/** Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const given = readSettings('invite', environment)
  const config: InviteConfig = {
    ...serviceConfig(given),
    port: given.INVITE_PORT,
    publicAddress: publicAddress(given),
  }
  return { config, resources: { ...commonResources(given), postgres: { url: given.DATABASE_URL } } }
}
