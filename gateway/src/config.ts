import { join } from 'node:path'
import {
  commonResources,
  publicAddress,
  readSettings,
  serviceConfig,
  tokenConfig,
  upstreamsConfig,
  type PublicAddress,
  type ServiceConfig,
  type TokenConfig,
} from '@gatehouse/service-kit'
import type { ServiceName } from '@gatehouse/contracts'

export type GatewayConfig = ServiceConfig &
  TokenConfig & {
    /** Never the public port. */
    opsHost: string
    opsPort: number
    publicAddress: PublicAddress
    /** Addresses, CIDRs or `loopback`. */
    trustProxy: string
    logAddresses?: boolean
    /** Each address of a host name is a replica. */
    services: Record<ServiceName, readonly string[]>
    /** `address:port`. The system resolves by default. */
    dnsServers?: readonly string[]
    /** Null counts in this process. */
    redisUrl: string | null
    /** Contract: 8, GATEHOUSE_UPSTREAMS. */
    upstreamsFile?: string
    webRoot: string
  }

/** Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const given = readSettings('gateway', environment)
  const config: GatewayConfig = {
    ...serviceConfig(given),
    ...tokenConfig(given),
    ...upstreamsConfig(given),
    port: given.PORT,
    opsHost: given.OPS_HOST,
    opsPort: given.OPS_PORT,
    publicAddress: publicAddress(given),
    trustProxy: given.TRUST_PROXY,
    logAddresses: given.LOG_ADDRESSES,
    services: {
      identity: given.IDENTITY_URL.split(','),
      invite: given.INVITE_URL.split(','),
      'session-gateway': given.SESSION_GATEWAY_URL.split(','),
      'federation-fanout': given.FEDERATION_FANOUT_URL.split(','),
    },
    dnsServers: given.SERVICE_DNS.split(',').filter((server) => server !== ''),
    redisUrl: given.REDIS_URL,
    webRoot: given.WEB_ROOT || join(given.GATEHOUSE_DATA, 'web'),
  }
  return { config, resources: { ...commonResources(given), redis: { url: given.REDIS_URL } } }
}
