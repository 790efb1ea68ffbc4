import * as kit from '@gatehouse/service-kit'

export type IdentityConfig = kit.ServiceConfig &
  kit.TokenConfig &
  kit.EncryptionConfig & {
    jwtExpiresIn: string
    jwtRenew: boolean
    /** False: local accounts log in without. Contract: 8, PASSWORDS. */
    passwords: boolean
    /** While the settings have no value. Spec: Registration 3. */
    registrationOpen: boolean
    publicAddress: kit.PublicAddress
    /** Besides PUBLIC_ORIGIN. Contract: 3, Passkeys. */
    passkeyOrigins?: readonly string[]
    reach: kit.FederationReach
    /** Where uploads are received and converted. */
    uploadDir: string
    uploadStore: kit.UploadStoreConfig
    /** `cost` is of tests. */
    hashing: { threads: number; queue: number; cost?: number }
    /** 0: kept for ever. */
    auditRetentionDays: number
    /** The file that declares the upstreams. Contract: 8, settings, GATEHOUSE_UPSTREAMS. */
    upstreamsFile?: string
    /** The file that declares the identity providers. Contract: 3, Identity providers. */
    providersFile?: string
    /** Without it the instance sends no mail. Contract: 3, Mail. */
    mail?: kit.MailConfig
  }

/** Throws ConfigurationError with every fault. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  return kit.readSettings('identity', environment, (settings, part) => {
    const config: IdentityConfig = {
      ...part(kit.serviceConfig),
      ...kit.tokenConfig(settings),
      ...kit.encryptionConfig(settings),
      ...kit.upstreamsConfig(settings),
      ...kit.providersConfig(settings),
      ...part(kit.mailConfig),
      port: settings.IDENTITY_PORT,
      jwtExpiresIn: settings.JWT_EXPIRES_IN,
      jwtRenew: settings.JWT_RENEW,
      passwords: settings.PASSWORDS,
      registrationOpen: settings.REGISTRATION_OPEN,
      publicAddress: part(kit.publicAddress),
      passkeyOrigins: settings.PASSKEY_ORIGINS,
      reach: part(kit.readFederation),
      ...part((valid) => kit.uploadConfig(valid, valid.GATEHOUSE_DATA)),
      hashing: { threads: settings.HASHING_THREADS, queue: settings.HASHING_QUEUE },
      auditRetentionDays: settings.AUDIT_RETENTION_DAYS,
    }
    const connections = { postgres: { url: settings.DATABASE_URL }, redis: part(kit.redisAddress) }
    return { config, resources: { ...part(kit.commonResources), ...connections } }
  })
}
