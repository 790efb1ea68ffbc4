import { join, resolve } from 'node:path'
import type { SecureContextOptions } from 'node:tls'
import { isEmailAddress, loopbackHost, normalizeEmail } from '@gatehouse/contracts'
import { parseCidrs, parseResolve, type OutboundConfig } from '@gatehouse/outbound/reach'
import type { TracingOptions } from '../tracing/otlp-tracing.ts'
import type { CallerKeys } from '@gatehouse/auth'
import { ConfigurationError } from './configuration.ts'
import type { SettingsOf } from './table.ts'

export type ListenConfig = { host: string; port: number; drainMs?: number }
export type ServiceConfig = ListenConfig & { callerKeys: CallerKeys }

export function serviceConfig(settings: Pick<SettingsOf<'invite'>, 'HOST' | 'CALLER_KEYS'>) {
  return { host: settings.HOST, callerKeys: { lines: settings.CALLER_KEYS } }
}

/** The previous secrets only verify bearer tokens. Contract: 8, settings, JWT_SECRET_PREVIOUS. */
export type TokenConfig = { jwtSecret: string; previousJwtSecrets?: readonly string[] }

export function tokenConfig(settings: Pick<SettingsOf<'gateway'>, 'JWT_SECRET' | 'JWT_SECRET_PREVIOUS'>) {
  return { jwtSecret: settings.JWT_SECRET, previousJwtSecrets: settings.JWT_SECRET_PREVIOUS }
}

/** The previous secrets only decrypt. Contract: 8, ENCRYPTION_SECRET_PREVIOUS. */
export type EncryptionConfig = { encryptionSecret: string; previousEncryptionSecrets?: readonly string[] }

export function encryptionConfig(
  settings: Pick<SettingsOf<'identity'>, 'ENCRYPTION_SECRET' | 'ENCRYPTION_SECRET_PREVIOUS'>,
) {
  const { ENCRYPTION_SECRET: encryptionSecret, ENCRYPTION_SECRET_PREVIOUS: previousEncryptionSecrets } = settings
  return { encryptionSecret, previousEncryptionSecrets }
}

export function upstreamsConfig(settings: Pick<SettingsOf<'gateway'>, 'GATEHOUSE_UPSTREAMS'>): {
  upstreamsFile?: string
} {
  return settings.GATEHOUSE_UPSTREAMS ? { upstreamsFile: settings.GATEHOUSE_UPSTREAMS } : {}
}

export function providersConfig(settings: Pick<SettingsOf<'identity'>, 'GATEHOUSE_PROVIDERS'>): {
  providersFile?: string
} {
  return settings.GATEHOUSE_PROVIDERS ? { providersFile: settings.GATEHOUSE_PROVIDERS } : {}
}

/** `tls`: `start`: from the first byte; `upgrade`: by STARTTLS, or not at all; `none`: on a loopback address. */
export type MailConfig = {
  host: string
  port: number
  tls: 'start' | 'upgrade' | 'none'
  ca?: string
  auth?: { user: string; pass: string }
  from: { name: string; address: string }
  hourlyLimit: number
  /** Of tests. */
  attemptMs?: number
}
type MailSettings = Pick<SettingsOf<'identity'>, 'SMTP_URL' | 'MAIL_FROM' | 'MAIL_HOURLY_LIMIT'> & {
  SMTP_CA?: string | undefined
}

/** Throws ConfigurationError with every fault. Contract: 8, SMTP_URL. */
export function mailConfig(settings: MailSettings): { mail?: MailConfig } {
  const { SMTP_URL, MAIL_FROM } = settings
  if (!SMTP_URL && !MAIL_FROM) return {}
  const url = URL.canParse(SMTP_URL) ? new URL(SMTP_URL) : undefined
  const isEncoded = !/%(?![\da-f]{2})/i.test(SMTP_URL)
  const isBare = url && url.hostname && /^\/?$/.test(url.pathname + url.search)
  const isServer = isBare && isEncoded && /^smtps?:$/.test(url.protocol)
  // The name is what a header takes as it stands.
  const [, name = '', inBrackets, bare] = /^(?:([^<>"@,;:\\\p{C}]*)<([^<>\s]+)>|(\S+))$/u.exec(MAIL_FROM) ?? []
  const address = inBrackets ?? bare ?? ''
  const faults = [
    !isServer && 'SMTP_URL: must be a URL such as smtps://user:password@mail.example or smtp://mail.example:587',
    !isEmailAddress(address) && 'MAIL_FROM: must be an address such as Chat <noreply@chat.example>',
  ].filter((fault) => fault !== false)
  if (!isServer || faults.length > 0) throw new ConfigurationError(faults)
  const { SMTP_CA: ca, MAIL_HOURLY_LIMIT: hourlyLimit } = settings
  const isSecure = url.protocol === 'smtps:'
  const isOpen = loopbackHost.test(url.hostname) && ca === undefined
  const user = decodeURIComponent(url.username)
  const mail: MailConfig = {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (isSecure ? 465 : 587)),
    tls: isSecure ? 'start' : isOpen ? 'none' : 'upgrade',
    ...(ca !== undefined && { ca }),
    ...(user && { auth: { user, pass: decodeURIComponent(url.password) } }),
    from: { name: name.trim(), address: normalizeEmail(address) },
    hourlyLimit,
  }
  return { mail }
}

type S3Key = { accessKeyId: string; secretAccessKey: string; sessionToken: string }

/** `prefix` is empty, or ends with a slash. */
export type S3Config = S3Key & { endpoint: string; bucket: string; prefix: string; region: string }
export type UploadStoreConfig = { folder: string } | S3Config

type StoreSetting =
  'AWS_ENDPOINT_URL' | 'AWS_REGION' | 'AWS_ACCESS_KEY_ID' | 'AWS_SECRET_ACCESS_KEY' | 'AWS_SESSION_TOKEN'

type UploadSettings = Pick<SettingsOf<'identity'>, 'UPLOAD_DIR' | 'UPLOAD_STORE' | StoreSetting>

/** `uploadDir` is on the disk also with S3: there uploads are received and converted. Throws ConfigurationError. */
export function uploadConfig(settings: UploadSettings, dataFolder: string) {
  const folder = settings.UPLOAD_DIR || join(dataFolder, 'uploads')
  const uploadStore = settings.UPLOAD_STORE ? uploadStoreConfig(settings.UPLOAD_STORE, settings) : { folder }
  return { uploadDir: 'folder' in uploadStore ? uploadStore.folder : folder, uploadStore }
}

/** Of a text that `variables.uploadStore` takes. Throws ConfigurationError with every fault. */
export function uploadStoreConfig(
  text: string,
  settings: Pick<SettingsOf<'identity'>, StoreSetting>,
): UploadStoreConfig {
  if (text.startsWith('file:')) return { folder: resolve(text.slice('file:'.length)) }
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/?$/.exec(text) ?? []
  const { AWS_REGION: region, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = settings
  const endpoint = (settings.AWS_ENDPOINT_URL || `https://s3.${region}.amazonaws.com`).replace(/\/+$/, '')
  const isEndpoint = /^https?:\/\/[^?#@]+$/.test(endpoint) && URL.canParse(endpoint)
  const requirement = 'is required while UPLOAD_STORE is s3: set it, or name its file'
  const faults = [
    !accessKeyId && `AWS_ACCESS_KEY_ID: ${requirement}`,
    !secretAccessKey && `AWS_SECRET_ACCESS_KEY: ${requirement}`,
    !/^[a-z0-9-]+$/.test(region) && 'AWS_REGION: must be a region such as eu-central-1',
    !isEndpoint && 'AWS_ENDPOINT_URL: must be a URL such as https://s3.example:9000',
  ].filter((fault) => fault !== false)
  if (faults.length > 0) throw new ConfigurationError(faults)
  const prefix = path && `${path}/`
  return { endpoint, bucket, prefix, region, accessKeyId, secretAccessKey, sessionToken: settings.AWS_SESSION_TOKEN }
}

/** `tls`: of what the file of the system does not say. */
export type ServerAddress = { url: string; tls?: SecureContextOptions }
type NatsSetting = 'NATS_CA' | 'NATS_CERT' | 'NATS_KEY'
type NatsSettings = Partial<Pick<SettingsOf<'invite'>, NatsSetting>> & { NATS_URL: string }
type RedisSettings = Partial<Pick<SettingsOf<'gateway'>, 'REDIS_CA' | 'REDIS_CERT' | 'REDIS_KEY'>> & {
  REDIS_URL: string
}

/** Throws ConfigurationError. Contract: 8, TLS to Redis and NATS. */
export function natsAddress({
  NATS_URL: url,
  NATS_CA: ca,
  NATS_CERT: cert,
  NATS_KEY: key,
}: NatsSettings): ServerAddress {
  const fault = url.includes('tls://') ? undefined : 'NATS_URL: must begin with tls://'
  return serverAddress(url, { ca, cert, key }, fault)
}

/** Throws ConfigurationError. Contract: 8, TLS to Redis and NATS. */
export function redisAddress(settings: RedisSettings): ServerAddress {
  const { REDIS_URL: url, REDIS_CA: ca, REDIS_CERT: cert, REDIS_KEY: key } = settings
  const fault = url.startsWith('rediss') ? undefined : 'REDIS_URL: must begin with rediss'
  return serverAddress(url, { ca, cert, key }, fault)
}

function serverAddress(url: string, tls: Record<string, string | undefined>, fault: string | undefined): ServerAddress {
  const certificates = Object.fromEntries(Object.entries(tls).filter(([, text]) => text !== undefined))
  if (Object.keys(certificates).length === 0) return { url }
  if (fault) throw new ConfigurationError([`${fault}, because certificates are given for it`])
  return { url, tls: certificates }
}

type TracingSetting = 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_TRACES_SAMPLER_ARG'

export function commonResources(
  settings: Pick<SettingsOf<'invite'>, NatsSetting | TracingSetting | 'LOG_LEVEL' | 'NATS_URL'>,
) {
  return { logLevel: settings.LOG_LEVEL, ...readTracing(settings), nats: natsAddress(settings) }
}

export function readTracing(settings: Pick<SettingsOf<'invite'>, TracingSetting>): { tracing?: TracingOptions } {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: share } = settings
  return endpoint === undefined ? {} : { tracing: { endpoint, share } }
}

/** `origin` has no trailing slash. `domain` is in lower case and has no port. */
export type PublicAddress = { origin: string; domain: string }
type AddressSettings = { PORT: number; PUBLIC_ORIGIN?: string | undefined; DOMAIN?: string | undefined }

/** Contract: 8, identity of the instance. Throws ConfigurationError. */
export function publicAddress(settings: AddressSettings): PublicAddress {
  const { PUBLIC_ORIGIN, DOMAIN } = settings
  const text = PUBLIC_ORIGIN ?? (DOMAIN ? `https://${DOMAIN}` : `http://localhost:${settings.PORT}`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol) || !['', '/'].includes(url.pathname) || url.search) {
    throw new ConfigurationError(['PUBLIC_ORIGIN: must be an origin such as https://chat.example, without a path'])
  }
  const { origin, hostname } = url
  const domain = (DOMAIN || hostname).toLowerCase()
  if (!/^[a-z0-9._-]{1,253}$/.test(domain)) {
    throw new ConfigurationError(['DOMAIN: must be a host name such as chat.example'])
  }
  // Other instances know users by the host of the origin.
  if (domain !== hostname) {
    throw new ConfigurationError([`DOMAIN: must be the host of PUBLIC_ORIGIN, ${hostname}; leave it out or change it`])
  }
  return { origin, domain }
}

export type FederationReach = OutboundConfig
type FederationSetting = 'FEDERATION_ALLOW_PRIVATE' | 'FEDERATION_RESOLVE'

/** Contract: 7, outbound requests. Throws ConfigurationError with every fault. */
export function readFederation(settings: Record<FederationSetting, string>): FederationReach {
  const faults: string[] = []
  const read = <T>(name: FederationSetting, parse: (text: string) => T): T | undefined => {
    try {
      return parse(settings[name])
    } catch (error) {
      faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    }
  }
  const allowPrivate = read('FEDERATION_ALLOW_PRIVATE', parseCidrs)
  const resolve = read('FEDERATION_RESOLVE', parseResolve)
  if (!allowPrivate || !resolve) throw new ConfigurationError(faults)
  return { allowPrivate, resolve }
}
