import { parseCidrs, parseResolve, type OutboundConfig } from '@gatehouse/outbound/reach'
import type { TracingOptions } from '../tracing/open-tracing.ts'
import { ConfigurationError, variables } from './configuration.ts'
import { z } from 'zod'
import root from '../../../../package.json' with { type: 'json' }

/** The version of this instance, as clients and peers see it. */
export const version: string = root.version

/** The servers that a distributed process connects to, and how it logs. */
export const networkVariables = {
  DATABASE_URL: variables.url('postgres://user:password@host:5432/gatehouse'),
  NATS_URL: variables.url('nats://host:4222'),
  REDIS_URL: variables.url('redis://host:6379'),
  INTERNAL_SECRET: variables.secret('signs the caller between gateway and services'),
  INTERNAL_SECRET_PREVIOUS: variables.previousSecrets(),
  LOG_LEVEL: variables.logLevel(),
}

/** Where traces go, and how many of them. Contract: 8, OTEL_EXPORTER_OTLP_ENDPOINT. */
export const tracingVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'must be a URL such as http://collector:4318' })
    .optional(),
  OTEL_TRACES_SAMPLER_ARG: variables.share(1),
}

/** The part of a process's resources for traces: none without an endpoint. */
export function readTracing(given: {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined
  OTEL_TRACES_SAMPLER_ARG: number
}): { tracing?: TracingOptions } {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: share } = given
  return endpoint === undefined ? {} : { tracing: { endpoint, share } }
}

/** The address of this instance for peers, invite links and browsers. */
export const publicVariables = {
  PORT: variables.port(8080),
  PUBLIC_ORIGIN: z.string().optional(),
  DOMAIN: z.string().optional(),
}

export type PublicAddress = {
  /** `https://chat.example`: no trailing slash. */
  origin: string
  /** In lower case, without a port. */
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
  // Other instances know the users by the host of the origin: with another domain their accounts there would be foreign.
  if (domain !== url.hostname) {
    throw new ConfigurationError([
      `DOMAIN: must be the host of PUBLIC_ORIGIN, ${url.hostname}; leave it out or change it`,
    ])
  }
  return { origin: url.origin, domain }
}

/** Which hosts outbound requests may reach beside public ones. */
export const federationVariables = {
  FEDERATION_ALLOW_PRIVATE: variables.text(''),
  FEDERATION_RESOLVE: variables.text(''),
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
