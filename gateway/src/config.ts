import { join } from 'node:path'
import {
  networkVariables,
  publicAddress,
  publicVariables,
  type PublicAddress,
  readTracing,
  readVariables,
  tracingVariables,
  variables,
} from '@gatehouse/service-kit'
import type { ServiceName } from '@gatehouse/contracts'

export type GatewayConfig = {
  host: string
  port: number
  /** The operator port, with `/healthz`, `/readyz` and `/metrics`: never the public one. */
  opsHost: string
  opsPort: number
  /** How long requests under way may take to end when the gateway stops, in milliseconds. */
  drainMs?: number
  internalSecret: string
  /** They verify caller tokens and sign none. Contract: 8, INTERNAL_SECRET_PREVIOUS. */
  previousInternalSecrets?: readonly string[]
  jwtSecret: string
  /** They verify bearer tokens and sign none. Contract: 8, JWT_SECRET_PREVIOUS. */
  previousJwtSecrets?: readonly string[]
  publicAddress: PublicAddress
  /** Addresses, CIDRs or `loopback` whose X-Forwarded-For is trusted. */
  trustProxy: string
  /** Whether the access log has clients' addresses; by default not. */
  logAddresses?: boolean
  /** The URLs of each service: every address of a host name is a replica. */
  services: Record<ServiceName, readonly string[]>
  /** Name servers (`address:port`) that resolve those names; without any the system does. */
  dnsServers?: readonly string[]
  /** Where rate limits are counted; null counts them in this process. */
  redisUrl: string | null
  /** The file with further services behind the gateway. Contract: 8, GATEHOUSE_UPSTREAMS. */
  upstreamsFile?: string
  /** The folder of the built web app. */
  webRoot: string
}

const { NATS_URL, REDIS_URL, INTERNAL_SECRET, INTERNAL_SECRET_PREVIOUS, LOG_LEVEL } = networkVariables
const shape = {
  NATS_URL,
  REDIS_URL,
  INTERNAL_SECRET,
  INTERNAL_SECRET_PREVIOUS,
  LOG_LEVEL,
  ...tracingVariables,
  ...publicVariables,
  HOST: variables.text('0.0.0.0'),
  OPS_HOST: variables.text('0.0.0.0'),
  OPS_PORT: variables.port(9090),
  JWT_SECRET: variables.secret('verifies the tokens'),
  JWT_SECRET_PREVIOUS: variables.previousSecrets(),
  TRUST_PROXY: variables.text(''),
  LOG_ADDRESSES: variables.flag(false),
  IDENTITY_URL: variables.url('http://identity:8081'),
  INVITE_URL: variables.url('http://invite:8082'),
  SESSION_GATEWAY_URL: variables.url('http://session-gateway:8083'),
  FEDERATION_FANOUT_URL: variables.url('http://federation-fanout:8084'),
  SERVICE_DNS: variables.text(''),
  GATEHOUSE_UPSTREAMS: variables.text(''),
  GATEHOUSE_DATA: variables.text('.gatehouse'),
  WEB_ROOT: variables.text(''),
}

/** Reads the environment of a distributed gateway. Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const given = readVariables(environment, shape)
  const config: GatewayConfig = {
    host: given.HOST,
    port: given.PORT,
    opsHost: given.OPS_HOST,
    opsPort: given.OPS_PORT,
    internalSecret: given.INTERNAL_SECRET,
    previousInternalSecrets: given.INTERNAL_SECRET_PREVIOUS,
    jwtSecret: given.JWT_SECRET,
    previousJwtSecrets: given.JWT_SECRET_PREVIOUS,
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
    ...(given.GATEHOUSE_UPSTREAMS && { upstreamsFile: given.GATEHOUSE_UPSTREAMS }),
    webRoot: given.WEB_ROOT || join(given.GATEHOUSE_DATA, 'web'),
  }
  const resources = {
    logLevel: given.LOG_LEVEL,
    ...readTracing(given),
    nats: { url: given.NATS_URL },
    redis: { url: given.REDIS_URL },
  }
  return { config, resources }
}
