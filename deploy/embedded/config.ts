import { join, resolve } from 'node:path'
import type { GatewayConfig } from '@gatehouse/gateway'
import type { IdentityConfig } from '@gatehouse/identity'
import {
  natsAddress,
  publicAddress,
  readFederation,
  readSettings,
  readTracing,
  uploadConfig,
  mailConfig,
  providersConfig,
  upstreamsConfig,
  type ServerAddress,
  type TracingOptions,
} from '@gatehouse/service-kit/start'
import { loadOrCreateSecrets } from './data-folder.ts'

export type EmbeddedConfig = Omit<IdentityConfig & GatewayConfig, 'services' | 'redis' | 'callerKeys'> & {
  dataFolder: string
  logLevel: string
  tracing?: TracingOptions
  /** Without it the bus stays within the process. */
  nats?: ServerAddress
  databasePassword: string
  operatorSecret: string
}

/** The first start creates secrets that the environment does not name. Throws ConfigurationError with every fault. Contract: 8, settings. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): EmbeddedConfig {
  const { given, parts } = readSettings('embedded', environment, (found, part) => ({
    given: found,
    parts: {
      publicAddress: part(publicAddress),
      reach: part(readFederation),
      ...part((valid) => uploadConfig(valid, resolve(valid.GATEHOUSE_DATA))),
      ...part(readTracing),
      ...part((valid) => valid.NATS_URL !== undefined && { nats: natsAddress({ ...valid, NATS_URL: valid.NATS_URL }) }),
      ...part(mailConfig),
    },
  }))
  const dataFolder = resolve(given.GATEHOUSE_DATA)
  const secrets = loadOrCreateSecrets(dataFolder)
  return {
    ...parts,
    host: given.HOST,
    port: given.PORT,
    opsHost: '127.0.0.1',
    opsPort: given.OPS_PORT,
    internalSecret: given.INTERNAL_SECRET ?? secrets.internalSecret,
    jwtSecret: given.JWT_SECRET ?? secrets.jwtSecret,
    previousInternalSecrets: given.INTERNAL_SECRET_PREVIOUS,
    previousJwtSecrets: given.JWT_SECRET_PREVIOUS,
    encryptionSecret: given.ENCRYPTION_SECRET ?? secrets.encryptionSecret,
    previousEncryptionSecrets: given.ENCRYPTION_SECRET_PREVIOUS,
    jwtExpiresIn: given.JWT_EXPIRES_IN,
    jwtRenew: given.JWT_RENEW,
    passwords: given.PASSWORDS,
    registrationOpen: given.REGISTRATION_OPEN,
    passkeyOrigins: given.PASSKEY_ORIGINS,
    trustProxy: given.TRUST_PROXY,
    logAddresses: given.LOG_ADDRESSES,
    webRoot: given.WEB_ROOT || join(dataFolder, 'web'),
    hashing: { threads: given.HASHING_THREADS, queue: given.HASHING_QUEUE },
    auditRetentionDays: given.AUDIT_RETENTION_DAYS,
    dataFolder,
    logLevel: given.LOG_LEVEL,
    ...upstreamsConfig(given),
    ...providersConfig(given),
    databasePassword: secrets.databasePassword,
    operatorSecret: secrets.operatorSecret,
  }
}
