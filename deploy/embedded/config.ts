import { cpus } from 'node:os'
import { join, resolve } from 'node:path'
import type { GatewayConfig } from '@gatehouse/gateway'
import type { IdentityConfig } from '@gatehouse/identity'
import {
  federationVariables,
  publicAddress,
  publicVariables,
  readFederation,
  readTracing,
  readVariables,
  tracingVariables,
  type TracingOptions,
  variables,
} from '@gatehouse/service-kit/start'
import { loadOrCreateSecrets } from './secrets.ts'

/** What one process needs to run every service. */
export type EmbeddedConfig = Omit<IdentityConfig & GatewayConfig, 'services' | 'redisUrl'> & {
  dataFolder: string
  logLevel: string
  /** Where traces go, if anywhere. */
  tracing?: TracingOptions
  /** Over which the bus goes; without it, it stays within the process. */
  natsUrl?: string
  /** Of the embedded PostgreSQL. */
  databasePassword: string
}

const shape = {
  ...publicVariables,
  ...federationVariables,
  ...tracingVariables,
  HOST: variables.text('127.0.0.1'),
  OPS_PORT: variables.port(0),
  JWT_SECRET: variables.secret('signs the tokens').optional(),
  INTERNAL_SECRET: variables.secret('signs the caller between gateway and services').optional(),
  JWT_SECRET_PREVIOUS: variables.previousSecrets(),
  INTERNAL_SECRET_PREVIOUS: variables.previousSecrets(),
  JWT_EXPIRES_IN: variables.duration('30d'),
  REGISTRATION_OPEN: variables.flag(true),
  TRUST_PROXY: variables.text(''),
  LOG_ADDRESSES: variables.flag(false),
  GATEHOUSE_DATA: variables.text('.gatehouse'),
  UPLOAD_DIR: variables.text(''),
  WEB_ROOT: variables.text(''),
  NATS_URL: variables.url('nats://127.0.0.1:4222').optional(),
  GATEHOUSE_UPSTREAMS: variables.text(''),
  HASHING_THREADS: variables.count(cpus().length, { max: 256 }),
  HASHING_QUEUE: variables.count(100),
  LOG_LEVEL: variables.logLevel(),
}

/**
 * Reads the environment of an embedded instance. Secrets that it does not name are in the data folder, where the first
 * start creates them. Throws ConfigurationError with every fault. Contract: 8.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): EmbeddedConfig {
  const given = readVariables(environment, shape)
  const dataFolder = resolve(given.GATEHOUSE_DATA)
  const address = publicAddress(given)
  const reach = readFederation(given)
  const secrets = loadOrCreateSecrets(dataFolder)
  return {
    host: given.HOST,
    port: given.PORT,
    opsHost: '127.0.0.1',
    opsPort: given.OPS_PORT,
    internalSecret: given.INTERNAL_SECRET ?? secrets.internalSecret,
    jwtSecret: given.JWT_SECRET ?? secrets.jwtSecret,
    previousInternalSecrets: given.INTERNAL_SECRET_PREVIOUS,
    previousJwtSecrets: given.JWT_SECRET_PREVIOUS,
    jwtExpiresIn: given.JWT_EXPIRES_IN,
    registrationOpen: given.REGISTRATION_OPEN,
    publicAddress: address,
    reach,
    trustProxy: given.TRUST_PROXY,
    logAddresses: given.LOG_ADDRESSES,
    uploadDir: given.UPLOAD_DIR || join(dataFolder, 'uploads'),
    webRoot: given.WEB_ROOT || join(dataFolder, 'web'),
    hashing: { threads: given.HASHING_THREADS, queue: given.HASHING_QUEUE },
    dataFolder,
    logLevel: given.LOG_LEVEL,
    ...readTracing(given),
    ...(given.NATS_URL !== undefined && { natsUrl: given.NATS_URL }),
    ...(given.GATEHOUSE_UPSTREAMS && { upstreamsFile: given.GATEHOUSE_UPSTREAMS }),
    databasePassword: secrets.databasePassword,
  }
}
