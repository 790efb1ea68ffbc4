import { availableParallelism } from 'node:os'
import { services as served, type ServiceName } from '@gatehouse/contracts'
import { z } from 'zod'
import { readVariables, variables } from './configuration.ts'

/** `embedded` is all processes in one. */
export type Reader = 'gateway' | ServiceName | 'embedded'

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
const tokens = ['gateway', 'identity', 'embedded'] as const
const federated = ['identity', 'federation-fanout', 'embedded'] as const
const addressed = ['gateway', 'identity', 'invite', 'federation-fanout', 'embedded'] as const
const routed = ['gateway', 'identity', 'session-gateway', 'embedded'] as const
const distributed = ['cluster', 'compose', 'kubernetes'] as const
const containers = ['compose', 'kubernetes'] as const

type Row = Omit<Setting, 'section'>
type InSection<Rows> = { [N in keyof Rows]: Rows[N] & { section: string } }
const inSection = <const Rows extends Record<string, Row>>(section: string, rows: Rows) =>
  Object.fromEntries(Object.entries<Row>(rows).map(([name, row]) => [name, { ...row, section }])) as InSection<Rows>

const replicasOf = (service: ServiceName) => {
  const url = `http://${service}:${served[service].port}`
  const meaning = 'every address of its name is a replica; several URLs are separated by commas'
  const preset = 'required (embedded: none)'
  const readers = ['gateway'] as const
  return { kind: variables.url(url), readers, chosenBy: distributed, preset, meaning, note: url }
}

const portOf = <S extends ServiceName>(service: S) => ({
  kind: variables.port(served[service].port),
  readers: [service] as const,
  chosenBy: distributed,
  meaning: `where ${service} listens`,
})

/** Servers of the operator's own: the cluster and Docker Compose bring theirs, without TLS. `<NAME>_FILE` names a file. */
const pem = <const R extends readonly Reader[]>({ readers, meaning }: { readers: R; meaning: string }) => ({
  kind: variables.pem(),
  readers,
  chosenBy: ['cluster', 'compose'] as const,
  isSecret: true as const,
  meaning,
})

const s3Key = (meaning: string) => ({ kind: variables.text(''), readers: accounts, isSecret: true as const, meaning })

/**
 * Every setting. deploy/env.example and the README's table come from here (`npm run settings`).
 * deploy/test/settings.test.ts checks each form. Contract: 8.
 */
export const settings = {
  ...inSection('the public address', {
    PORT: {
      kind: variables.port(8080),
      readers: addressed,
      chosenBy: distributed,
      meaning: 'where the gateway listens',
    },
    HOST: {
      kind: variables.text('0.0.0.0'),
      embedded: variables.text('127.0.0.1'),
      readers: all,
      chosenBy: distributed,
      meaning: 'the address that it listens on',
    },
    PUBLIC_ORIGIN: {
      kind: z.string().optional(),
      readers: addressed,
      preset: '`https://<DOMAIN>`, else `http://localhost:<PORT>`',
      meaning: 'the origin that browsers, peers and invite links see',
    },
    DOMAIN: {
      kind: z.string().optional(),
      readers: addressed,
      preset: 'the host of PUBLIC_ORIGIN',
      meaning: "this instance's name in the federation: the @domain of its users",
      note: 'A value other than the host of PUBLIC_ORIGIN stops the start. Never change it later.',
    },
    TRUST_PROXY: {
      kind: variables.text(''),
      readers: edge,
      meaning: 'addresses, CIDRs or `loopback` whose X-Forwarded-For is believed',
      note: 'Without them every client behind a proxy shares one rate limit. Docker Compose, with a proxy on this machine: the address .1 of EDGE_SUBNET, 10.203.141.1',
    },
  }),
  ...inSection('what the processes stand on', {
    DATABASE_URL: {
      kind: variables.url('postgres://user:password@host:5432/gatehouse'),
      readers: services,
      chosenBy: ['cluster'],
      isSecret: true,
      preset: 'required (embedded: its own)',
      meaning: 'PostgreSQL, as the role of the service',
      note: 'postgres://gatehouse_identity:password@postgres:5432/gatehouse',
    },
    NATS_URL: {
      kind: variables.url('nats://host:4222'),
      embedded: variables.url('nats://127.0.0.1:4222').optional(),
      readers: all,
      chosenBy: ['cluster'],
      isSecret: true,
      preset: 'required (embedded: none)',
      meaning: 'NATS; embedded only for upstreams with live messages or events',
      note: 'nats://user:password@nats:4222, or tls://: never in plain text then',
    },
    NATS_CA: pem({
      readers: all,
      meaning: "the authority that signed the certificate of NATS, as PEM; the system's where unset",
    }),
    NATS_CERT: pem({ readers: all, meaning: 'the certificate that the processes show to NATS, as PEM' }),
    NATS_KEY: pem({ readers: all, meaning: 'its key, as PEM' }),
    REDIS_URL: {
      kind: variables.redisUrl(),
      readers: ['gateway', 'identity'],
      chosenBy: ['cluster'],
      isSecret: true,
      preset: 'required (embedded: none)',
      meaning: 'Redis: account states and rate limits',
      note: 'redis://:password@redis:6379, rediss://, redis+sentinel://:password@one:26379,two:26379/<name of the primary>',
    },
    REDIS_CA: pem({
      readers: ['gateway', 'identity'],
      meaning: "the authority that signed the certificate of Redis and its Sentinels, as PEM; the system's where unset",
    }),
    REDIS_CERT: pem({
      readers: ['gateway', 'identity'],
      meaning: 'the certificate that the processes show to Redis and its Sentinels, as PEM',
    }),
    REDIS_KEY: pem({ readers: ['gateway', 'identity'], meaning: 'its key, as PEM' }),
  }),
  ...inSection('secrets, at least 32 characters; deploy/make-secrets.sh makes them', {
    JWT_SECRET: {
      kind: variables.secret('signs the tokens'),
      embedded: variables.secret('signs the tokens').optional(),
      readers: tokens,
      isSecret: true,
      preset: 'required (embedded: made once and kept)',
      meaning: 'signs the tokens',
      note: 'A change ends all sessions, unless the old one is in JWT_SECRET_PREVIOUS.',
    },
    INTERNAL_SECRET: {
      kind: variables.secret('signs who is calling'),
      embedded: variables.secret('signs who is calling').optional(),
      readers: edge,
      isSecret: true,
      preset: 'required (embedded: made once and kept)',
      meaning: 'signs who is calling, towards services and upstreams; of the gateway alone',
      note: 'A private key of Ed25519, or any text.',
    },
    CALLER_KEYS: {
      kind: variables.callerKeys(),
      readers: services,
      chosenBy: ['cluster'],
      isSecret: true,
      preset: 'required (embedded: none)',
      meaning: 'one a line, the public keys that services believe: `gateway <key>` and `operator <key>`',
      note: 'deploy/make-secrets.sh writes them; `gatehouse keys` prints those of INTERNAL_SECRET and OPERATOR_SECRET.',
    },
    OPERATOR_SECRET: {
      kind: variables.secret('signs what the operator calls'),
      readers: [],
      chosenBy: distributed,
      isSecret: true,
      preset: 'required by the command line (embedded: none)',
      meaning: 'signs what the command line calls; no process holds it',
    },
    JWT_SECRET_PREVIOUS: {
      kind: variables.previousSecrets(),
      readers: tokens,
      isSecret: true,
      meaning: 'one a line: they verify tokens and sign none, while the secret rotates',
      note: 'docs/operators.md, "Rotating secrets".',
    },
    INTERNAL_SECRET_PREVIOUS: {
      kind: variables.previousSecrets(),
      readers: edge,
      isSecret: true,
      meaning: 'one a line: upstreams learn their public keys, and they sign nothing, while the secret rotates',
    },
  }),
  ...inSection('encryption at rest', {
    ENCRYPTION_SECRET: {
      kind: variables.secret('encrypts what must be read again'),
      embedded: variables.secret('encrypts what must be read again').optional(),
      readers: federated,
      isSecret: true,
      preset: 'required (embedded: made once and kept)',
      meaning: 'encrypts at rest what must be read again: second factors, secrets of peers and for other instances',
      note: 'What it encrypted is lost with it: keep a copy apart from the backups of the database.',
    },
    ENCRYPTION_SECRET_PREVIOUS: {
      kind: variables.previousSecrets(),
      readers: federated,
      isSecret: true,
      meaning: 'one a line: they decrypt and encrypt nothing, while the secret rotates',
    },
  }),
  ...inSection('accounts', {
    JWT_EXPIRES_IN: { kind: variables.duration('30d'), readers: accounts, meaning: 'how long a token lives' },
    REGISTRATION_OPEN: {
      kind: variables.flag(true),
      readers: accounts,
      meaning: 'whether strangers may register, until an admin decides',
    },
    HASHING_THREADS: {
      kind: variables.count(availableParallelism(), { max: 256 }),
      readers: accounts,
      preset: 'one for each core',
      meaning: 'threads that hash passwords',
    },
    HASHING_QUEUE: { kind: variables.count(100), readers: accounts, meaning: 'how many requests may wait for them' },
    AUDIT_RETENTION_DAYS: {
      kind: variables.count(0, { min: 0, max: 36_500 }),
      readers: accounts,
      preset: 'none: kept for ever',
      meaning: 'after how many days an entry of the audit log goes',
    },
  }),
  ...inSection('federation: where outbound requests may go beside public addresses over https', {
    FEDERATION_ALLOW_PRIVATE: {
      kind: variables.text(''),
      readers: federated,
      meaning: 'CIDRs that are reached although private, also by plain http',
      note: '10.1.0.0/16,192.168.7.4/32',
    },
    FEDERATION_RESOLVE: {
      kind: variables.text(''),
      readers: federated,
      meaning: 'where host names lead, for split horizons and tests',
      note: 'peer.example=10.1.2.3:8443',
    },
  }),
  ...inSection('data', {
    GATEHOUSE_DATA: {
      kind: variables.text('.gatehouse'),
      readers: ['gateway', 'identity', 'embedded'],
      chosenBy: distributed,
      meaning: 'the data folder: embedded PostgreSQL, secrets, uploads, the built web app',
    },
    UPLOAD_DIR: {
      kind: variables.text(''),
      readers: accounts,
      chosenBy: containers,
      preset: '`<data>/uploads`',
      meaning: 'uploaded pictures; all identity replicas share it. With s3: where each receives and converts them',
    },
    UPLOAD_STORE: {
      kind: variables.uploadStore(),
      readers: accounts,
      preset: '`file:<UPLOAD_DIR>`',
      meaning: 'where the uploads are: a folder, or `s3://bucket/prefix`',
      note: 'docs/operators.md, "The store of uploads".',
    },
    AWS_ENDPOINT_URL: {
      kind: variables.text(''),
      readers: accounts,
      preset: '`https://s3.<AWS_REGION>.amazonaws.com`',
      meaning: 'the S3 server of another provider',
      note: 'https://s3.example:9000',
    },
    AWS_REGION: { kind: variables.text('us-east-1'), readers: accounts, meaning: 'the region of the bucket' },
    AWS_ACCESS_KEY_ID: s3Key('names the key that reads and writes the bucket'),
    AWS_SECRET_ACCESS_KEY: s3Key('that key'),
    AWS_SESSION_TOKEN: s3Key('belongs to a key for a time'),
    WEB_ROOT: {
      kind: variables.text(''),
      readers: edge,
      chosenBy: containers,
      preset: '`<data>/web`',
      meaning: 'the built web app',
    },
  }),
  ...inSection('distributed: where the processes find each other', {
    IDENTITY_URL: replicasOf('identity'),
    INVITE_URL: replicasOf('invite'),
    SESSION_GATEWAY_URL: replicasOf('session-gateway'),
    FEDERATION_FANOUT_URL: replicasOf('federation-fanout'),
    SERVICE_DNS: {
      kind: variables.text(''),
      readers: ['gateway'],
      meaning: 'name servers that are asked for these names instead of the system, by full names',
      note: '10.0.0.2:53,10.0.0.3:53',
    },
    IDENTITY_PORT: portOf('identity'),
    INVITE_PORT: portOf('invite'),
    SESSION_GATEWAY_PORT: portOf('session-gateway'),
    FEDERATION_FANOUT_PORT: portOf('federation-fanout'),
  }),
  ...inSection('further services behind the gateway: docs/integrating.md', {
    GATEHOUSE_UPSTREAMS: {
      kind: variables.text(''),
      readers: routed,
      meaning: 'the YAML or JSON file that names further services behind the gateway',
      note: 'Docker Compose: /etc/gatehouse/upstreams.yaml, which is upstreams.yaml in deploy/upstreams.',
    },
  }),
  ...inSection('operations', {
    OPS_HOST: {
      kind: variables.text('0.0.0.0'),
      readers: ['gateway'],
      chosenBy: distributed,
      preset: '`127.0.0.1` (distributed: `0.0.0.0`)',
      meaning:
        'where `/healthz`, `/readyz` and `/metrics` of the gateway answer; services answer them on their own ports',
    },
    OPS_PORT: {
      kind: variables.port(9090),
      embedded: variables.port(0),
      readers: edge,
      chosenBy: distributed,
      preset: 'any free port (distributed: `9090`)',
      meaning: 'their port',
    },
    LOG_LEVEL: {
      kind: variables.logLevel(),
      readers: all,
      meaning: 'fatal, error, warn, info, debug, trace or silent',
    },
    LOG_ADDRESSES: {
      kind: variables.flag(false),
      readers: edge,
      meaning: "whether the gateway's lines for requests have the client's address",
    },
    OTEL_EXPORTER_OTLP_ENDPOINT: {
      kind: z.url({ protocol: /^https?$/, error: 'must be a URL such as http://collector:4318' }).optional(),
      readers: all,
      meaning: 'where traces go, by OTLP over HTTP',
    },
    OTEL_TRACES_SAMPLER_ARG: {
      kind: variables.share(1),
      readers: all,
      meaning: 'which share of the traces is recorded, from 0 to 1',
    },
    OTEL_EXPORTER_OTLP_HEADERS: {
      kind: variables.text(''),
      readers: all,
      meaning: 'headers for a receiver that asks for a key; no other variable of OpenTelemetry is heard',
    },
  }),
}

/** What says where the uploads are. */
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
export type SettingName = keyof Table
type NameOf<R extends Reader> = {
  [N in SettingName]: R extends Table[N]['readers'][number] ? N : never
}[SettingName]
type KindOf<N extends SettingName, R extends Reader> = R extends 'embedded'
  ? Table[N] extends { embedded: infer Kind extends z.ZodType }
    ? Kind
    : Table[N]['kind']
  : Table[N]['kind']

/** Services of 0.2.0 hold them, and verify by them until its gateways are replaced. docs/operators.md, "From 0.2.0". */
const formerSecrets = {
  INTERNAL_SECRET: variables.previousSecrets(),
  INTERNAL_SECRET_PREVIOUS: variables.previousSecrets(),
}
type FormerSecrets = z.output<z.ZodObject<typeof formerSecrets>>

export type Given<R extends Reader> = { [N in NameOf<R>]: z.output<KindOf<N, R>> } & (R extends ServiceName
  ? FormerSecrets
  : unknown)

/** Throws ConfigurationError with every fault. */
export function readSettings<R extends Reader>(
  reader: R,
  environment: Readonly<Record<string, string | undefined>>,
): Given<R> {
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
