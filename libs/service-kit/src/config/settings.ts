import { parseCidrs, parseResolve, type OutboundConfig } from '@gatehouse/outbound/reach'
import type { TracingOptions } from '../tracing/otlp-tracing.ts'
import { ConfigurationError } from './configuration.ts'
import type { Given } from './table.ts'
import root from '../../../../package.json' with { type: 'json' }

export const version: string = root.version

export type ServiceConfig = {
  host: string
  port: number
  drainMs?: number
  internalSecret: string
  /** These only verify caller tokens. Contract: 8, INTERNAL_SECRET_PREVIOUS. */
  previousInternalSecrets?: readonly string[]
}

export function serviceConfig(given: Pick<Given<'gateway'>, 'HOST' | 'INTERNAL_SECRET' | 'INTERNAL_SECRET_PREVIOUS'>) {
  return {
    host: given.HOST,
    internalSecret: given.INTERNAL_SECRET,
    previousInternalSecrets: given.INTERNAL_SECRET_PREVIOUS,
  }
}

export type TokenConfig = {
  jwtSecret: string
  /** These only verify bearer tokens. Contract: 8, JWT_SECRET_PREVIOUS. */
  previousJwtSecrets?: readonly string[]
}

export function tokenConfig(given: Pick<Given<'gateway'>, 'JWT_SECRET' | 'JWT_SECRET_PREVIOUS'>) {
  return { jwtSecret: given.JWT_SECRET, previousJwtSecrets: given.JWT_SECRET_PREVIOUS }
}

export function upstreamsConfig(given: Pick<Given<'gateway'>, 'GATEHOUSE_UPSTREAMS'>): { upstreamsFile?: string } {
  return given.GATEHOUSE_UPSTREAMS ? { upstreamsFile: given.GATEHOUSE_UPSTREAMS } : {}
}

export function commonResources(
  given: Pick<Given<'gateway'>, 'LOG_LEVEL' | 'NATS_URL' | 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_TRACES_SAMPLER_ARG'>,
) {
  return { logLevel: given.LOG_LEVEL, ...readTracing(given), nats: { url: given.NATS_URL } }
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
