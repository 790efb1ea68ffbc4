import { commonResources, publicAddress, readSettings, serviceConfig } from '@gatehouse/service-kit'
import type { PublicAddress, ServiceConfig } from '@gatehouse/service-kit'

export type InviteConfig = ServiceConfig & { publicAddress: PublicAddress }

/** Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const given = readSettings('invite', environment)
  const service = { ...serviceConfig(given), port: given.INVITE_PORT }
  const config: InviteConfig = { ...service, publicAddress: publicAddress(given) }
  return { config, resources: { ...commonResources(given), postgres: { url: given.DATABASE_URL } } }
}
