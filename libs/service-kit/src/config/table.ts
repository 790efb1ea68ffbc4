import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { readVariables, variables } from './configuration.ts'

/** `embedded` is all processes in one. */
export type Reader = 'gateway' | 'identity' | 'invite' | 'session-gateway' | 'federation-fanout' | 'embedded'

export type Form = 'embedded' | 'cluster' | 'compose' | 'kubernetes'

type Setting = {
  section: string
  kind: z.ZodType
  /** Replaces `kind` in the embedded form. */
  embedded?: z.ZodType
  readers: readonly Reader[]
  /** Every other form forwards the value to all readers. */
  chosenBy?: readonly Form[]
  isSecret?: true
  preset?: string
  meaning: string
  note?: string
}

const services = ['identity', 'invite', 'session-gateway', 'federation-fanout'] as const
const network = ['gateway', ...services] as const
const all = [...network, 'embedded'] as const
const accounts = ['identity', 'embedded'] as const
const edge = ['gateway', 'embedded'] as const
const tokens = ['gateway', 'identity', 'session-gateway', 'embedded'] as const
const federated = ['identity', 'federation-fanout', 'embedded'] as const
const addressed = ['gateway', 'identity', 'invite', 'federation-fanout', 'embedded'] as const
const routed = ['gateway', 'session-gateway', 'embedded'] as const
const distributed = ['cluster', 'compose', 'kubernetes'] as const
const containers = ['compose', 'kubernetes'] as const

const declare = <const Table extends Record<string, Setting>>(table: Table): Table => table

/**
 * Every setting. deploy/env.example and the README's table come from here (`npm run settings`).
 * deploy/test/settings.test.ts checks each form. Contract: 8.
 */
export const settings = declare({
  PORT: {
    section: 'the public address',
    kind: variables.port(8080),
    readers: addressed,
    chosenBy: distributed,
    meaning: 'where the gateway listens',
  },
  HOST: {
    section: 'the public address',
    kind: variables.text('0.0.0.0'),
    embedded: variables.text('127.0.0.1'),
    readers: all,
    chosenBy: distributed,
    meaning: 'the address that it listens on',
  },
  PUBLIC_ORIGIN: {
    section: 'the public address',
    kind: z.string().optional(),
    readers: addressed,
    preset: '`https://<DOMAIN>`, else `http://localhost:<PORT>`',
    meaning: 'the origin that browsers, peers and invite links see',
  },
  DOMAIN: {
    section: 'the public address',
    kind: z.string().optional(),
    readers: addressed,
    preset: 'the host of PUBLIC_ORIGIN',
    meaning: "this instance's name in the federation: the @domain of its users",
    note: 'A value other than the host of PUBLIC_ORIGIN stops the start. Never change it later.',
  },
  TRUST_PROXY: {
    section: 'the public address',
    kind: variables.text(''),
    readers: edge,
    meaning: 'addresses, CIDRs or `loopback` whose X-Forwarded-For is believed',
    note: 'Without them every client behind a proxy shares one rate limit. Docker Compose, with a proxy on this machine: the address .1 of EDGE_SUBNET, 10.203.141.1',
  },
  DATABASE_URL: {
    section: 'what the processes stand on',
    kind: variables.url('postgres://user:password@host:5432/gatehouse'),
    readers: services,
    chosenBy: ['cluster'],
    isSecret: true,
    preset: 'required (embedded: its own)',
    meaning: 'PostgreSQL, as the role of the service',
    note: 'postgres://gatehouse_identity:password@postgres:5432/gatehouse',
  },
  NATS_URL: {
    section: 'what the processes stand on',
    kind: variables.url('nats://host:4222'),
    embedded: variables.url('nats://127.0.0.1:4222').optional(),
    readers: all,
    chosenBy: ['cluster'],
    isSecret: true,
    preset: 'required (embedded: none)',
    meaning: 'NATS; embedded only for upstreams with live messages or events',
    note: 'nats://user:password@nats:4222',
  },
  REDIS_URL: {
    section: 'what the processes stand on',
    kind: variables.url('redis://host:6379'),
    readers: ['gateway', 'identity'],
    chosenBy: ['cluster'],
    isSecret: true,
    preset: 'required (embedded: none)',
    meaning: 'Redis: account states and rate limits',
    note: 'redis://:password@redis:6379',
  },
  JWT_SECRET: {
    section: 'secrets, at least 32 characters; deploy/make-secrets.sh makes them',
    kind: variables.secret('signs the tokens'),
    embedded: variables.secret('signs the tokens').optional(),
    readers: tokens,
    isSecret: true,
    preset: 'required (embedded: made once and kept)',
    meaning: 'signs the tokens',
    note: 'A change ends all sessions, unless the old one is in JWT_SECRET_PREVIOUS.',
  },
  INTERNAL_SECRET: {
    section: 'secrets, at least 32 characters; deploy/make-secrets.sh makes them',
    kind: variables.secret('signs the caller between gateway and services'),
    embedded: variables.secret('signs the caller between gateway and services').optional(),
    readers: all,
    isSecret: true,
    preset: 'required (embedded: made once and kept)',
    meaning: 'signs the caller between gateway and services',
  },
  JWT_SECRET_PREVIOUS: {
    section: 'secrets, at least 32 characters; deploy/make-secrets.sh makes them',
    kind: variables.previousSecrets(),
    readers: tokens,
    isSecret: true,
    meaning: 'one a line: they verify tokens and sign none, while the secret rotates',
    note: 'docs/operators.md, "Rotating secrets".',
  },
  INTERNAL_SECRET_PREVIOUS: {
    section: 'secrets, at least 32 characters; deploy/make-secrets.sh makes them',
    kind: variables.previousSecrets(),
    readers: all,
    isSecret: true,
    meaning: 'one a line: they verify callers and sign none, while the secret rotates',
  },
  JWT_EXPIRES_IN: {
    section: 'accounts',
    kind: variables.duration('30d'),
    readers: accounts,
    meaning: 'how long a token lives',
  },
  REGISTRATION_OPEN: {
    section: 'accounts',
    kind: variables.flag(true),
    readers: accounts,
    meaning: 'whether strangers may register, until an admin decides',
  },
  HASHING_THREADS: {
    section: 'accounts',
    kind: variables.count(availableParallelism(), { max: 256 }),
    readers: accounts,
    preset: 'one for each core',
    meaning: 'threads that hash passwords',
  },
  HASHING_QUEUE: {
    section: 'accounts',
    kind: variables.count(100),
    readers: accounts,
    meaning: 'how many requests may wait for them',
  },
  FEDERATION_ALLOW_PRIVATE: {
    section: 'federation: where outbound requests may go beside public addresses over https',
    kind: variables.text(''),
    readers: federated,
    meaning: 'CIDRs that are reached although private, also by plain http',
    note: '10.1.0.0/16,192.168.7.4/32',
  },
  FEDERATION_RESOLVE: {
    section: 'federation: where outbound requests may go beside public addresses over https',
    kind: variables.text(''),
    readers: federated,
    meaning: 'where host names lead, for split horizons and tests',
    note: 'peer.example=10.1.2.3:8443',
  },
  GATEHOUSE_DATA: {
    section: 'data',
    kind: variables.text('.gatehouse'),
    readers: ['gateway', 'identity', 'embedded'],
    chosenBy: distributed,
    meaning: 'the data folder: embedded PostgreSQL, secrets, uploads, the built web app',
  },
  UPLOAD_DIR: {
    section: 'data',
    kind: variables.text(''),
    readers: accounts,
    chosenBy: containers,
    preset: '`<data>/uploads`',
    meaning: 'uploaded pictures; all identity replicas share it',
  },
  WEB_ROOT: {
    section: 'data',
    kind: variables.text(''),
    readers: edge,
    chosenBy: containers,
    preset: '`<data>/web`',
    meaning: 'the built web app',
  },
  IDENTITY_URL: {
    section: 'distributed: where the processes find each other',
    kind: variables.url('http://identity:8081'),
    readers: ['gateway'],
    chosenBy: distributed,
    preset: 'required (embedded: none)',
    meaning: 'every address of its name is a replica; several URLs are separated by commas',
    note: 'http://identity:8081',
  },
  INVITE_URL: {
    section: 'distributed: where the processes find each other',
    kind: variables.url('http://invite:8082'),
    readers: ['gateway'],
    chosenBy: distributed,
    preset: 'required (embedded: none)',
    meaning: 'likewise',
    note: 'http://invite:8082',
  },
  SESSION_GATEWAY_URL: {
    section: 'distributed: where the processes find each other',
    kind: variables.url('http://session-gateway:8083'),
    readers: ['gateway'],
    chosenBy: distributed,
    preset: 'required (embedded: none)',
    meaning: 'likewise',
    note: 'http://session-gateway:8083',
  },
  FEDERATION_FANOUT_URL: {
    section: 'distributed: where the processes find each other',
    kind: variables.url('http://federation-fanout:8084'),
    readers: ['gateway'],
    chosenBy: distributed,
    preset: 'required (embedded: none)',
    meaning: 'likewise',
    note: 'http://federation-fanout:8084',
  },
  SERVICE_DNS: {
    section: 'distributed: where the processes find each other',
    kind: variables.text(''),
    readers: ['gateway'],
    meaning: 'name servers that are asked for these names instead of the system, by full names',
    note: '10.0.0.2:53,10.0.0.3:53',
  },
  IDENTITY_PORT: {
    section: 'distributed: where the processes find each other',
    kind: variables.port(8081),
    readers: ['identity'],
    chosenBy: distributed,
    meaning: 'where identity listens',
  },
  INVITE_PORT: {
    section: 'distributed: where the processes find each other',
    kind: variables.port(8082),
    readers: ['invite'],
    chosenBy: distributed,
    meaning: 'where invite listens',
  },
  SESSION_GATEWAY_PORT: {
    section: 'distributed: where the processes find each other',
    kind: variables.port(8083),
    readers: ['session-gateway'],
    chosenBy: distributed,
    meaning: 'where session-gateway listens',
  },
  FEDERATION_FANOUT_PORT: {
    section: 'distributed: where the processes find each other',
    kind: variables.port(8084),
    readers: ['federation-fanout'],
    chosenBy: distributed,
    meaning: 'where federation-fanout listens',
  },
  GATEHOUSE_UPSTREAMS: {
    section: 'further services behind the gateway: docs/integrating.md',
    kind: variables.text(''),
    readers: routed,
    meaning: 'the YAML or JSON file that names further services behind the gateway',
    note: 'Docker Compose: /etc/gatehouse/upstreams.yaml, which is upstreams.yaml in deploy/upstreams.',
  },
  OPS_HOST: {
    section: 'operations',
    kind: variables.text('0.0.0.0'),
    readers: ['gateway'],
    chosenBy: distributed,
    preset: '`127.0.0.1` (distributed: `0.0.0.0`)',
    meaning:
      'where `/healthz`, `/readyz` and `/metrics` of the gateway answer; services answer them on their own ports',
  },
  OPS_PORT: {
    section: 'operations',
    kind: variables.port(9090),
    embedded: variables.port(0),
    readers: edge,
    chosenBy: distributed,
    preset: 'any free port (distributed: `9090`)',
    meaning: 'their port',
  },
  LOG_LEVEL: {
    section: 'operations',
    kind: variables.logLevel(),
    readers: all,
    meaning: 'fatal, error, warn, info, debug, trace or silent',
  },
  LOG_ADDRESSES: {
    section: 'operations',
    kind: variables.flag(false),
    readers: edge,
    meaning: "whether the gateway's lines for requests have the client's address",
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    section: 'operations',
    kind: z.url({ protocol: /^https?$/, error: 'must be a URL such as http://collector:4318' }).optional(),
    readers: all,
    meaning: 'where traces go, by OTLP over HTTP',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    section: 'operations',
    kind: variables.share(1),
    readers: all,
    meaning: 'which share of the traces is recorded, from 0 to 1',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    section: 'operations',
    kind: variables.text(''),
    readers: all,
    meaning: 'headers for a receiver that asks for a key; no other variable of OpenTelemetry is heard',
  },
})

type Table = typeof settings
export type SettingName = keyof Table
type NameOf<R extends Reader> = {
  [N in SettingName]: R extends Table[N]['readers'][number] ? N : never
}[SettingName]
type KindOf<N extends SettingName, R extends Reader> = R extends 'embedded'
  ? Table[N] extends { embedded: infer Kind extends z.ZodType }
    ? Kind
    : Table[N]['kind']
  : Table[N]['kind']

export type Given<R extends Reader> = { [N in NameOf<R>]: z.output<KindOf<N, R>> }

/** Throws ConfigurationError with every fault. */
export function readSettings<R extends Reader>(
  reader: R,
  environment: Readonly<Record<string, string | undefined>>,
): Given<R> {
  const shape: Record<string, z.ZodType> = {}
  for (const [name, setting] of Object.entries<Setting>(settings)) {
    if (!setting.readers.includes(reader)) continue
    shape[name] = (reader === 'embedded' ? setting.embedded : undefined) ?? setting.kind
  }
  return readVariables(environment, shape) as Given<R>
}

export function listSettings(): (Setting & { name: string })[] {
  return Object.entries<Setting>(settings).map(([name, setting]) => ({ ...setting, name }))
}
