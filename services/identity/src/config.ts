import {
  commonResources,
  encryptionConfig,
  publicAddress,
  readFederation,
  readSettings,
  redisAddress,
  serviceConfig,
  tokenConfig,
  upstreamsConfig,
  uploadConfig,
} from '@gatehouse/service-kit'
import type * as kit from '@gatehouse/service-kit'

export type IdentityConfig = kit.ServiceConfig &
  kit.TokenConfig &
  kit.EncryptionConfig & {
    jwtExpiresIn: string
    /** While the settings have no value. Spec: Registration 3. */
    registrationOpen: boolean
    publicAddress: kit.PublicAddress
    reach: kit.FederationReach
    /** Where uploads are received and converted. */
    uploadDir: string
    uploadStore: kit.UploadStoreConfig
    hashing: { threads: number; queue: number }
    /** 0: kept for ever. */
    auditRetentionDays: number
    /** Contract: 8, GATEHOUSE_UPSTREAMS. */
    upstreamsFile?: string
  }

/** Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const given = readSettings('identity', environment)
  const config: IdentityConfig = {
    ...serviceConfig(given),
    ...tokenConfig(given),
    ...encryptionConfig(given),
    ...upstreamsConfig(given),
    port: given.IDENTITY_PORT,
    jwtExpiresIn: given.JWT_EXPIRES_IN,
    registrationOpen: given.REGISTRATION_OPEN,
    publicAddress: publicAddress(given),
    reach: readFederation(given),
    ...uploadConfig(given, given.GATEHOUSE_DATA),
    hashing: { threads: given.HASHING_THREADS, queue: given.HASHING_QUEUE },
    auditRetentionDays: given.AUDIT_RETENTION_DAYS,
  }
  const connections = { postgres: { url: given.DATABASE_URL }, redis: redisAddress(given) }
  return { config, resources: { ...commonResources(given), ...connections } }
}
