import { join, resolve } from 'node:path'
import type { SecureContextOptions } from 'node:tls'
import { parseCidrs, parseResolve, type OutboundConfig } from '@gatehouse/outbound/reach'
import type { TracingOptions } from '../tracing/otlp-tracing.ts'
import type { CallerKeys } from '@gatehouse/auth'
import { ConfigurationError } from './configuration.ts'
import type { Given } from './table.ts'

export { version } from '@gatehouse/runtime'

export type ListenConfig = { host: string; port: number; drainMs?: number }

export type ServiceConfig = ListenConfig & { callerKeys: CallerKeys }

export function serviceConfig(
  given: Pick<Given<'invite'>, 'HOST' | 'CALLER_KEYS' | 'INTERNAL_SECRET' | 'INTERNAL_SECRET_PREVIOUS'>,
) {
  const formerSecrets = [...given.INTERNAL_SECRET, ...given.INTERNAL_SECRET_PREVIOUS]
  return { host: given.HOST, callerKeys: { lines: given.CALLER_KEYS, formerSecrets } }
}

export type TokenConfig = {
  jwtSecret: string
  /** These only verify bearer tokens. Contract: 8, JWT_SECRET_PREVIOUS. */
  previousJwtSecrets?: readonly string[]
}

export function tokenConfig(given: Pick<Given<'gateway'>, 'JWT_SECRET' | 'JWT_SECRET_PREVIOUS'>) {
  return { jwtSecret: given.JWT_SECRET, previousJwtSecrets: given.JWT_SECRET_PREVIOUS }
}

export type EncryptionConfig = {
  encryptionSecret: string
  /** These only decrypt. Contract: 8, ENCRYPTION_SECRET_PREVIOUS. */
  previousEncryptionSecrets?: readonly string[]
}

export function encryptionConfig(given: Pick<Given<'identity'>, 'ENCRYPTION_SECRET' | 'ENCRYPTION_SECRET_PREVIOUS'>) {
  return {
    encryptionSecret: given.ENCRYPTION_SECRET,
    previousEncryptionSecrets: given.ENCRYPTION_SECRET_PREVIOUS,
  }
}

export function upstreamsConfig(given: Pick<Given<'gateway'>, 'GATEHOUSE_UPSTREAMS'>): { upstreamsFile?: string } {
  return given.GATEHOUSE_UPSTREAMS ? { upstreamsFile: given.GATEHOUSE_UPSTREAMS } : {}
}

export type S3Config = {
  endpoint: string
  bucket: string
  /** Empty, or with a slash at its end. */
  prefix: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  sessionToken: string
}

export type UploadStoreConfig = { folder: string } | S3Config

type StoreSetting =
  'AWS_ENDPOINT_URL' | 'AWS_REGION' | 'AWS_ACCESS_KEY_ID' | 'AWS_SECRET_ACCESS_KEY' | 'AWS_SESSION_TOKEN'

/** `uploadDir` is on the disk also with S3: there uploads are received and converted. Throws ConfigurationError. */
export function uploadConfig(
  given: Pick<Given<'identity'>, 'UPLOAD_DIR' | 'UPLOAD_STORE' | StoreSetting>,
  dataFolder: string,
): { uploadDir: string; uploadStore: UploadStoreConfig } {
  const folder = given.UPLOAD_DIR || join(dataFolder, 'uploads')
  const uploadStore = given.UPLOAD_STORE ? uploadStoreConfig(given.UPLOAD_STORE, given) : { folder }
  return { uploadDir: 'folder' in uploadStore ? uploadStore.folder : folder, uploadStore }
}

/** Of a text that `variables.uploadStore` takes. Throws ConfigurationError with every fault. */
export function uploadStoreConfig(text: string, given: Pick<Given<'identity'>, StoreSetting>): UploadStoreConfig {
  if (text.startsWith('file:')) return { folder: resolve(text.slice('file:'.length)) }
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/?$/.exec(text) ?? []
  const { AWS_REGION: region, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = given
  const endpoint = (given.AWS_ENDPOINT_URL || `https://s3.${region}.amazonaws.com`).replace(/\/+$/, '')
  const faults = [
    ...(accessKeyId ? [] : ['AWS_ACCESS_KEY_ID: is required while UPLOAD_STORE is s3: set it, or name its file']),
    ...(secretAccessKey
      ? []
      : ['AWS_SECRET_ACCESS_KEY: is required while UPLOAD_STORE is s3: set it, or name its file']),
    ...(/^[a-z0-9-]+$/.test(region) ? [] : ['AWS_REGION: must be a region such as eu-central-1']),
    ...(/^https?:\/\/[^?#@]+$/.test(endpoint) && URL.canParse(endpoint)
      ? []
      : ['AWS_ENDPOINT_URL: must be a URL such as https://s3.example:9000']),
  ]
  if (faults.length > 0) throw new ConfigurationError(faults)
  const prefix = path && `${path}/`
  return { endpoint, bucket, prefix, region, accessKeyId, secretAccessKey, sessionToken: given.AWS_SESSION_TOKEN }
}

/** `tls`: of what the file of the system does not say. */
export type ServerAddress = { url: string; tls?: SecureContextOptions }

type NatsSetting = 'NATS_CA' | 'NATS_CERT' | 'NATS_KEY'
type RedisSetting = 'REDIS_CA' | 'REDIS_CERT' | 'REDIS_KEY'

/** Throws ConfigurationError. Contract: 8, TLS. */
export function natsAddress(given: Partial<Pick<Given<'invite'>, NatsSetting>> & { NATS_URL: string }): ServerAddress {
  const { NATS_URL: url, NATS_CA: ca, NATS_CERT: cert, NATS_KEY: key } = given
  return serverAddress('NATS', { url, tls: { ca, cert, key }, isEncrypted: url.includes('tls://') })
}

/** Throws ConfigurationError. Contract: 8, TLS. */
export function redisAddress(
  given: Partial<Pick<Given<'gateway'>, RedisSetting>> & { REDIS_URL: string },
): ServerAddress {
  const { REDIS_URL: url, REDIS_CA: ca, REDIS_CERT: cert, REDIS_KEY: key } = given
  return serverAddress('REDIS', { url, tls: { ca, cert, key }, isEncrypted: url.startsWith('rediss') })
}

type GivenTls = Record<'ca' | 'cert' | 'key', string | undefined>

function serverAddress(
  name: 'NATS' | 'REDIS',
  { url, tls, isEncrypted }: { url: string; tls: GivenTls; isEncrypted: boolean },
): ServerAddress {
  const given = Object.fromEntries(Object.entries(tls).filter(([, text]) => text !== undefined))
  if (Object.keys(given).length === 0) return { url }
  if (!isEncrypted) {
    const scheme = name === 'NATS' ? 'tls://' : 'rediss:// or rediss+sentinel://'
    throw new ConfigurationError([`${name}_URL: must begin with ${scheme}, because certificates are given for it`])
  }
  return { url, tls: given }
}

export function commonResources(
  given: Pick<
    Given<'invite'>,
    NatsSetting | 'LOG_LEVEL' | 'NATS_URL' | 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_TRACES_SAMPLER_ARG'
  >,
) {
  return { logLevel: given.LOG_LEVEL, ...readTracing(given), nats: natsAddress({ ...given, NATS_URL: given.NATS_URL }) }
}

export function readTracing(given: {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined
  OTEL_TRACES_SAMPLER_ARG: number
}): { tracing?: TracingOptions } {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: share } = given
  return endpoint === undefined ? {} : { tracing: { endpoint, share } }
}

export type PublicAddress = {
  /** Without a trailing slash. */
  origin: string
  /** Lower case, without a port. */
  domain: string
}

/** Contract: 8, PUBLIC_ORIGIN and DOMAIN. Throws ConfigurationError. */
export function publicAddress(given: {
  PORT: number
  PUBLIC_ORIGIN?: string | undefined
  DOMAIN?: string | undefined
}): PublicAddress {
  const { PORT, PUBLIC_ORIGIN, DOMAIN } = given
  const text = PUBLIC_ORIGIN ?? (DOMAIN ? `https://${DOMAIN}` : `http://localhost:${PORT}`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol) || !['', '/'].includes(url.pathname) || url.search) {
    throw new ConfigurationError(['PUBLIC_ORIGIN: must be an origin such as https://chat.example, without a path'])
  }
  const domain = (DOMAIN || url.hostname).toLowerCase()
  if (!/^[a-z0-9._-]{1,253}$/.test(domain)) {
    throw new ConfigurationError(['DOMAIN: must be a host name such as chat.example'])
  }
  // Other instances know users by the host of the origin.
  if (domain !== url.hostname) {
    throw new ConfigurationError([
      `DOMAIN: must be the host of PUBLIC_ORIGIN, ${url.hostname}; leave it out or change it`,
    ])
  }
  return { origin: url.origin, domain }
}

export type FederationReach = OutboundConfig

/** Contract: 8, FEDERATION_ALLOW_PRIVATE and FEDERATION_RESOLVE. Throws ConfigurationError. */
export function readFederation(given: {
  FEDERATION_ALLOW_PRIVATE: string
  FEDERATION_RESOLVE: string
}): FederationReach {
  const read = <T>(name: keyof typeof given, parse: (text: string) => T): T => {
    try {
      return parse(given[name])
    } catch (error) {
      throw new ConfigurationError([`${name}: ${error instanceof Error ? error.message : String(error)}`])
    }
  }
  return {
    allowPrivate: read('FEDERATION_ALLOW_PRIVATE', parseCidrs),
    resolve: read('FEDERATION_RESOLVE', parseResolve),
  }
}
