import { join } from 'node:path'
import { commonResources, publicAddress, readSettings, redisAddress, tokenConfig } from '@gatehouse/service-kit'
import { upstreamsConfig, type ListenConfig, type PublicAddress } from '@gatehouse/service-kit'
import type { ServerAddress, TokenConfig } from '@gatehouse/service-kit'
import { replicasOfServices, type ServiceName } from '@gatehouse/contracts'

export type GatewayConfig = ListenConfig &
  TokenConfig & {
    internalSecret: string
    /** Upstreams learn their public keys. Contract: 8, settings, INTERNAL_SECRET_PREVIOUS. */
    previousInternalSecrets?: readonly string[]
    opsHost: string
    opsPort: number
    publicAddress: PublicAddress
    /** Besides PUBLIC_ORIGIN. Contract: 3, Passkeys. */
    passkeyOrigins?: readonly string[]
    /** Addresses, CIDRs or `loopback`. */
    trustProxy: string
    logAddresses?: boolean
    /** Each address of a host name is a replica. */
    services: Record<ServiceName, readonly string[]>
    /** `address:port`. The system resolves by default. */
    dnsServers?: readonly string[]
    /** Null counts in this process. */
    redis: ServerAddress | null
    /** The file that declares the upstreams. Contract: 8, settings, GATEHOUSE_UPSTREAMS. */
    upstreamsFile?: string
    webRoot: string
  }

/** Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  return readSettings('gateway', environment, (settings, part) => {
    const redis = part(redisAddress)
    const config: GatewayConfig = {
      ...tokenConfig(settings),
      ...upstreamsConfig(settings),
      host: settings.HOST,
      port: settings.PORT,
      internalSecret: settings.INTERNAL_SECRET,
      previousInternalSecrets: settings.INTERNAL_SECRET_PREVIOUS,
      opsHost: settings.OPS_HOST,
      opsPort: settings.OPS_PORT,
      publicAddress: part(publicAddress),
      passkeyOrigins: settings.PASSKEY_ORIGINS,
      trustProxy: settings.TRUST_PROXY,
      logAddresses: settings.LOG_ADDRESSES,
      services: part(replicasOfServices),
      dnsServers: part(({ SERVICE_DNS }) => SERVICE_DNS.split(',').filter((server) => server !== '')),
      redis,
      webRoot: part(({ WEB_ROOT, GATEHOUSE_DATA }) => WEB_ROOT || join(GATEHOUSE_DATA, 'web')),
    }
    return { config, resources: { ...part(commonResources), redis } }
  })
}
