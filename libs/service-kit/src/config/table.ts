import { availableParallelism } from 'node:os'
import { serviceNames, services as served, urlVariable, variablePrefix } from '@gatehouse/contracts'
import type { ServiceName, ServiceVariable } from '@gatehouse/contracts'
import { z } from 'zod'
import { readVariables, variables, type Environment } from './configuration.ts'

/** `embedded` is all processes in one. */
export type Reader = 'gateway' | ServiceName | 'embedded'
export type Form = 'embedded' | 'cluster' | 'compose' | 'kubernetes'

type About = {
  /** Replaces the kind in the embedded form. */
  embedded?: z.ZodType
  /** Every other form forwards the value to all readers. */
  chosenBy?: readonly Form[]
  isSecret?: true
  preset?: string
  meaning: string
  note?: string
}
type Row = About & { readers: readonly Reader[]; kind: z.ZodType }
type Setting = Row & { section: string }

const all = ['gateway', ...serviceNames, 'embedded'] as const
const accounts = ['identity', 'embedded'] as const
const edge = ['gateway', 'embedded'] as const
const tokens = ['gateway', 'identity', 'embedded'] as const
const cached = ['gateway', 'identity'] as const
const federated = ['identity', 'federation-fanout', 'embedded'] as const
const addressed = ['gateway', 'identity', 'invite', 'federation-fanout', 'embedded'] as const
const routed = ['gateway', 'identity', 'session-gateway', 'embedded'] as const
const distributed = ['cluster', 'compose', 'kubernetes'] as const
const containers = ['compose', 'kubernetes'] as const

type InSection<Rows> = { [N in keyof Rows]: Rows[N] & { section: string } }
const inSection = <const Rows extends Record<string, Row>>(section: string, rows: Rows) =>
  Object.fromEntries(Object.entries<Row>(rows).map(([name, row]) => [name, { ...row, section }])) as InSection<Rows>

const setting = <const R extends readonly Reader[], K extends z.ZodType, const A extends About>(
  readers: R,
  kind: K,
  about: A,
) => ({ readers, kind, ...about })

const madeOnce = { isSecret: true, preset: 'required (embedded: made once and kept)' } as const
const ofCluster = { chosenBy: ['cluster'], isSecret: true, preset: 'required (embedded: none)' } as const

const replicasOf = (service: ServiceName) => {
  const note = `http://${service}:${served[service].port}`
  const meaning = 'every address of its name is a replica; several URLs are separated by commas'
  return setting(['gateway'], variables.url(note), { chosenBy: distributed, preset: ofCluster.preset, meaning, note })
}

const portOf = <S extends ServiceName>(service: S) => {
  const meaning = `where ${service} listens`
  return setting([service], variables.port(served[service].port), { chosenBy: distributed, meaning })
}

type Urls = Record<ServiceVariable<ServiceName, 'URL'>, ReturnType<typeof replicasOf>>
type Ports = { [S in ServiceName as ServiceVariable<S, 'PORT'>]: ReturnType<typeof portOf<S>> }
const urls = Object.fromEntries(serviceNames.map((name) => [urlVariable(name), replicasOf(name)])) as Urls
const ports = serviceNames.map((name) => [`${variablePrefix(name)}_PORT`, portOf(name)])

/** Servers of the operator's own: the cluster and Docker Compose bring theirs, without TLS. `<NAME>_FILE` names a file. */
const pem = <const R extends readonly Reader[]>(readers: R, meaning: string) =>
  setting(readers, variables.pem(), { chosenBy: ['cluster', 'compose'], isSecret: true, meaning })

const receiver = z.url({ protocol: /^https?$/, error: 'must be a URL such as http://collector:4318' })
const s3Key = (meaning: string) => setting(accounts, variables.text(''), { isSecret: true, meaning })

/** Every setting. `npm run settings` makes deploy/env.example and the README's table of them. Contract: 8. */
export const settings = {
  ...inSection('the public address', {
    PORT: setting(addressed, variables.port(8080), { chosenBy: distributed, meaning: 'where the gateway listens' }),
    HOST: setting(all, variables.text('0.0.0.0'), {
      embedded: variables.text('127.0.0.1'),
      chosenBy: distributed,
      meaning: 'the address that it listens on',
    }),
    PUBLIC_ORIGIN: setting(addressed, z.string().optional(), {
      preset: '`https://<DOMAIN>`, else `http://localhost:<PORT>`',
      meaning: 'the origin that browsers, peers and invite links see',
    }),
    DOMAIN: setting(addressed, z.string().optional(), {
      preset: 'the host of PUBLIC_ORIGIN',
      meaning: "this instance's name in the federation: the @domain of its users",
      note: 'A value other than the host of PUBLIC_ORIGIN stops the start. Never change it later.',
    }),
    TRUST_PROXY: setting(edge, variables.text(''), {
      meaning: 'addresses, CIDRs or `loopback` whose X-Forwarded-For is believed',
      note: 'Without them every client behind a proxy shares one rate limit. Docker Compose, with a proxy on this machine: the address .1 of EDGE_SUBNET, 10.203.141.1',
    }),
  }),
  ...inSection('what the processes stand on', {
    DATABASE_URL: setting(serviceNames, variables.url('postgres://user:password@host:5432/gatehouse'), {
      chosenBy: ['cluster'],
      isSecret: true,
      preset: 'required (embedded: its own)',
      meaning: 'PostgreSQL, as the role of the service',
      note: 'postgres://gatehouse_identity:password@postgres:5432/gatehouse',
    }),
    NATS_URL: setting(all, variables.url('nats://host:4222'), {
      embedded: variables.url('nats://127.0.0.1:4222').optional(),
      ...ofCluster,
      meaning: 'NATS; embedded only for upstreams with live messages or events',
      note: 'nats://user:password@nats:4222, or tls://: never in plain text then',
    }),
    NATS_CA: pem(all, "the authority that signed the certificate of NATS, as PEM; the system's where unset"),
    NATS_CERT: pem(all, 'the certificate that the processes show to NATS, as PEM'),
    NATS_KEY: pem(all, 'its key, as PEM'),
    REDIS_URL: setting(cached, variables.redisUrl(), {
      ...ofCluster,
      meaning: 'Redis: account states and rate limits',
      note: 'redis://:password@redis:6379, rediss://, redis+sentinel://:password@one:26379,two:26379/<name of the primary>',
    }),
    REDIS_CA: pem(
      cached,
      "the authority that signed the certificate of Redis and its Sentinels, as PEM; the system's where unset",
    ),
    REDIS_CERT: pem(cached, 'the certificate that the processes show to Redis and its Sentinels, as PEM'),
    REDIS_KEY: pem(cached, 'its key, as PEM'),
  }),
  ...inSection('secrets, at least 32 characters; deploy/make-secrets.sh makes them', {
    JWT_SECRET: setting(tokens, variables.secret('signs the tokens'), {
      embedded: variables.secret('signs the tokens').optional(),
      ...madeOnce,
      meaning: 'signs the tokens',
      note: 'A change ends all sessions, unless the old one is in JWT_SECRET_PREVIOUS.',
    }),
    INTERNAL_SECRET: setting(edge, variables.secret('signs who is calling'), {
      embedded: variables.secret('signs who is calling').optional(),
      ...madeOnce,
      meaning: 'signs who is calling, towards services and upstreams; of the gateway alone',
      note: 'A private key of Ed25519, or any text.',
    }),
    CALLER_KEYS: setting(serviceNames, variables.callerKeys(), {
      ...ofCluster,
      meaning: 'one a line, the public keys that services believe: `gateway <key>` and `operator <key>`',
      note: 'deploy/make-secrets.sh writes them; `gatehouse keys` prints those of INTERNAL_SECRET and OPERATOR_SECRET.',
    }),
    OPERATOR_SECRET: setting([], variables.secret('signs what the operator calls'), {
      chosenBy: distributed,
      isSecret: true,
      preset: 'required by the command line (embedded: none)',
      meaning: 'signs what the command line calls; no process holds it',
    }),
    JWT_SECRET_PREVIOUS: setting(tokens, variables.previousSecrets(), {
      isSecret: true,
      meaning: 'one a line: they verify tokens and sign none, while the secret rotates',
      note: 'docs/operate/rotate-secrets.md.',
    }),
    INTERNAL_SECRET_PREVIOUS: setting(edge, variables.previousSecrets(), {
      isSecret: true,
      meaning: 'one a line: upstreams learn their public keys, and they sign nothing, while the secret rotates',
    }),
  }),
  ...inSection('encryption at rest', {
    ENCRYPTION_SECRET: setting(federated, variables.secret('encrypts what must be read again'), {
      embedded: variables.secret('encrypts what must be read again').optional(),
      ...madeOnce,
      meaning: 'encrypts at rest what must be read again: second factors, secrets of peers and for other instances',
      note: 'What it encrypted is lost with it: keep a copy apart from the backups of the database.',
    }),
    ENCRYPTION_SECRET_PREVIOUS: setting(federated, variables.previousSecrets(), {
      isSecret: true,
      meaning: 'one a line: they decrypt and encrypt nothing, while the secret rotates',
    }),
  }),
  ...inSection('accounts', {
    JWT_EXPIRES_IN: setting(accounts, variables.duration('30d'), { meaning: 'how long a token lives' }),
    JWT_RENEW: setting(accounts, variables.flag(true), {
      meaning: 'whether a token older than a day is renewed, so that a session lasts while it is used',
    }),
    REGISTRATION_OPEN: setting(accounts, variables.flag(true), {
      meaning: 'whether strangers may register, until an admin decides',
    }),
    HASHING_THREADS: setting(accounts, variables.count(availableParallelism(), { max: 256 }), {
      preset: 'one for each core',
      meaning: 'threads that hash passwords',
    }),
    HASHING_QUEUE: setting(accounts, variables.count(100), { meaning: 'how many requests may wait for them' }),
    AUDIT_RETENTION_DAYS: setting(accounts, variables.count(0, { min: 0, max: 36_500 }), {
      preset: 'none: kept for ever',
      meaning: 'after how many days an entry of the audit log goes',
    }),
  }),
  ...inSection('federation: where outbound requests may go beside public addresses over https', {
    FEDERATION_ALLOW_PRIVATE: setting(federated, variables.text(''), {
      meaning: 'CIDRs that are reached although private, also by plain http',
      note: '10.1.0.0/16,192.168.7.4/32',
    }),
    FEDERATION_RESOLVE: setting(federated, variables.text(''), {
      meaning: 'where host names lead, for split horizons and tests',
      note: 'peer.example=10.1.2.3:8443',
    }),
  }),
  ...inSection('data', {
    GATEHOUSE_DATA: setting(tokens, variables.text('.gatehouse'), {
      chosenBy: distributed,
      meaning: 'the data folder: embedded PostgreSQL, secrets, uploads, the built web app',
    }),
    UPLOAD_DIR: setting(accounts, variables.text(''), {
      chosenBy: containers,
      preset: '`<data>/uploads`',
      meaning: 'uploaded pictures; all identity replicas share it. With s3: where each receives and converts them',
    }),
    UPLOAD_STORE: setting(accounts, variables.uploadStore(), {
      preset: '`file:<UPLOAD_DIR>`',
      meaning: 'where the uploads are: a folder, or `s3://bucket/prefix`',
      note: 'docs/operate/store-uploads-in-s3.md.',
    }),
    AWS_ENDPOINT_URL: setting(accounts, variables.text(''), {
      preset: '`https://s3.<AWS_REGION>.amazonaws.com`',
      meaning: 'the S3 server of another provider',
      note: 'https://s3.example:9000',
    }),
    AWS_REGION: setting(accounts, variables.text('us-east-1'), { meaning: 'the region of the bucket' }),
    AWS_ACCESS_KEY_ID: s3Key('names the key that reads and writes the bucket'),
    AWS_SECRET_ACCESS_KEY: s3Key('that key'),
    AWS_SESSION_TOKEN: s3Key('belongs to a key for a time'),
    WEB_ROOT: setting(edge, variables.text(''), {
      chosenBy: containers,
      preset: '`<data>/web`',
      meaning: 'the built web app',
    }),
  }),
  ...inSection('distributed: where the processes find each other', {
    ...urls,
    SERVICE_DNS: setting(['gateway'], variables.text(''), {
      meaning: 'name servers that are asked for these names instead of the system, by full names',
      note: '10.0.0.2:53,10.0.0.3:53',
    }),
    ...(Object.fromEntries(ports) as Ports),
  }),
  ...inSection('further services behind the gateway: docs/integrating.md', {
    GATEHOUSE_UPSTREAMS: setting(routed, variables.text(''), {
      meaning: 'the YAML or JSON file that names further services behind the gateway',
      note: 'Docker Compose: /etc/gatehouse/upstreams.yaml, which is upstreams.yaml in deploy/upstreams.',
    }),
  }),
  ...inSection('operations', {
    OPS_HOST: setting(['gateway'], variables.text('0.0.0.0'), {
      chosenBy: distributed,
      preset: '`127.0.0.1` (distributed: `0.0.0.0`)',
      meaning:
        'where `/healthz`, `/readyz` and `/metrics` of the gateway answer; services answer them on their own ports',
    }),
    OPS_PORT: setting(edge, variables.port(9090), {
      embedded: variables.port(0),
      chosenBy: distributed,
      preset: 'any free port (distributed: `9090`)',
      meaning: 'their port',
    }),
    LOG_LEVEL: setting(all, variables.logLevel(), { meaning: 'fatal, error, warn, info, debug, trace or silent' }),
    LOG_ADDRESSES: setting(edge, variables.flag(false), {
      meaning: "whether the gateway's lines for requests have the client's address",
    }),
    OTEL_EXPORTER_OTLP_ENDPOINT: setting(all, receiver.optional(), { meaning: 'where traces go, by OTLP over HTTP' }),
    OTEL_TRACES_SAMPLER_ARG: setting(all, variables.share(1), {
      meaning: 'which share of the traces is recorded, from 0 to 1',
    }),
    OTEL_EXPORTER_OTLP_HEADERS: setting(all, variables.text(''), {
      meaning: 'headers for a receiver that asks for a key; no other variable of OpenTelemetry is heard',
    }),
  }),
}

export const uploadSettings = {
  UPLOAD_DIR: settings.UPLOAD_DIR.kind,
  UPLOAD_STORE: settings.UPLOAD_STORE.kind,
  AWS_ENDPOINT_URL: settings.AWS_ENDPOINT_URL.kind,
  AWS_REGION: settings.AWS_REGION.kind,
  AWS_ACCESS_KEY_ID: settings.AWS_ACCESS_KEY_ID.kind,
  AWS_SECRET_ACCESS_KEY: settings.AWS_SECRET_ACCESS_KEY.kind,
  AWS_SESSION_TOKEN: settings.AWS_SESSION_TOKEN.kind,
}

type Table = typeof settings
type NameOf<R extends Reader> = { [N in keyof Table]: R extends Table[N]['readers'][number] ? N : never }[keyof Table]
type Embedded<N extends keyof Table> = Table[N] extends { embedded: infer Kind } ? Kind : Table[N]['kind']
type KindOf<N extends keyof Table, R extends Reader> = R extends 'embedded' ? Embedded<N> : Table[N]['kind']

/** Services of 0.2.0 hold them, and verify by them until its gateways are replaced. docs/operate/upgrade.md. */
const formerSecrets = {
  INTERNAL_SECRET: variables.previousSecrets(),
  INTERNAL_SECRET_PREVIOUS: variables.previousSecrets(),
}
type FormerSecrets = z.output<z.ZodObject<typeof formerSecrets>>
export type Given<R extends Reader> = { [N in NameOf<R>]: z.output<KindOf<N, R>> } & (R extends ServiceName
  ? FormerSecrets
  : unknown)

/** Throws ConfigurationError with every fault. */
export function readSettings<R extends Reader>(reader: R, environment: Environment): Given<R> {
  const shape: Record<string, z.ZodType> = reader in served ? { ...formerSecrets } : {}
  for (const [name, setting] of Object.entries<Setting>(settings)) {
    if (!setting.readers.includes(reader)) continue
    shape[name] = (reader === 'embedded' ? setting.embedded : undefined) ?? setting.kind
  }
  return readVariables(environment, shape) as Given<R>
}

export function listSettings(): (Setting & { name: string })[] {
  return Object.entries<Setting>(settings).map(([name, setting]) => ({ ...setting, name }))
}
