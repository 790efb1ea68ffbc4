import { commonResources, publicAddress, readSettings, serviceConfig } from '@gatehouse/service-kit'
import type { PublicAddress, ServiceConfig } from '@gatehouse/service-kit'

export type InviteConfig = ServiceConfig & { publicAddress: PublicAddress }

/** Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  return readSettings('invite', environment, (given, part) => {
    const service = { ...part(serviceConfig), port: given.INVITE_PORT }
    const config: InviteConfig = { ...service, publicAddress: part(publicAddress) }
    return { config, resources: { ...part(commonResources), postgres: { url: given.DATABASE_URL } } }
  })
}
