import { availableParallelism } from 'node:os'
import { serviceNames, services as served, urlVariable, variablePrefix } from '@gatehouse/contracts'
import type { ServiceName, ServiceVariable } from '@gatehouse/contracts'
import { z } from 'zod'
import { configure, variables, type Environment, type Part } from './configuration.ts'

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
const federated = ['identity', 'federation-fanout', 'openid', 'embedded'] as const
const addressed = ['gateway', 'identity', 'invite', 'federation-fanout', 'openid', 'embedded'] as const
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

const madeOnce = { isSecret: true, preset: 'required' } as const
const ofCluster = { chosenBy: ['cluster'], isSecret: true, preset: 'required' } as const

const replicasOf = (service: ServiceName) => {
  const url = `http://${service}:${served[service].port}`
  const meaning = `URLs of ${service}, comma-separated. Each address of a name is a replica`
  const about = { chosenBy: distributed, preset: ofCluster.preset, meaning, note: `Example: ${url}` }
  return setting(['gateway'], variables.url(url), about)
}

const portOf = <S extends ServiceName>(service: S) => {
  const meaning = `Port of ${service}`
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

/** Every setting. `npm run settings` makes deploy/env.example and docs/reference/settings.md of them. Contract: 8, settings. */
export const settings = {
  ...inSection('Public address', {
    PORT: setting(addressed, variables.port(8080), { chosenBy: distributed, meaning: 'Port of the gateway' }),
    HOST: setting(all, variables.text('0.0.0.0'), {
      embedded: variables.text('127.0.0.1'),
      chosenBy: distributed,
      meaning: 'Address the gateway listens on',
    }),
    PUBLIC_ORIGIN: setting(addressed, z.string().optional(), {
      preset: '`https://<DOMAIN>`, else `http://localhost:<PORT>`',
      meaning: 'Public address of the instance, used by browsers, peers and invite links',
    }),
    DOMAIN: setting(addressed, z.string().optional(), {
      preset: 'the host of PUBLIC_ORIGIN',
      meaning: "The instance's name in the federation: the `@domain` of its users. Never change it later",
      note: 'A value other than the host of PUBLIC_ORIGIN stops the start.',
    }),
    TRUST_PROXY: setting(edge, variables.trustedProxies(), {
      meaning: 'Proxies whose X-Forwarded-For is trusted: addresses, CIDRs or `loopback`',
      note: 'Without it, all clients behind a proxy share one rate limit. Docker Compose with a proxy on this machine: the address .1 of EDGE_SUBNET, 10.203.141.1',
    }),
  }),
  ...inSection('Data services', {
    DATABASE_URL: setting(serviceNames, variables.databaseUrl(), {
      chosenBy: ['cluster'],
      isSecret: true,
      preset: 'required',
      meaning: "PostgreSQL URL, with the service's own role",
      note: 'Example: postgres://gatehouse_identity:password@postgres:5432/gatehouse. Several hosts: …@pg1:5432,pg2:5432/gatehouse?target_session_attrs=read-write',
    }),
    NATS_URL: setting(all, variables.url('nats://host:4222'), {
      embedded: variables.url('nats://127.0.0.1:4222').optional(),
      ...ofCluster,
      meaning: 'NATS URL. With `npm start`, needed only for upstreams with live messages or events',
      note: 'Example: nats://user:password@nats:4222. tls:// never falls back to plain text.',
    }),
    NATS_CA: pem(all, "CA certificate for NATS (PEM; default: the system's)"),
    NATS_CERT: pem(all, 'Client certificate for NATS (PEM)'),
    NATS_KEY: pem(all, 'Private key for NATS_CERT (PEM)'),
    REDIS_URL: setting(cached, variables.redisUrl(), {
      ...ofCluster,
      meaning: 'Redis URL, for account states and rate limits',
      note: 'Examples: redis://:password@redis:6379, rediss://, redis+cluster://:password@one:6379,two:6379, redis+sentinel://:password@one:26379,two:26379/<name of the primary>',
    }),
    REDIS_CA: pem(cached, "CA certificate for Redis and its Sentinels (PEM; default: the system's)"),
    REDIS_CERT: pem(cached, 'Client certificate for Redis and its Sentinels (PEM)'),
    REDIS_KEY: pem(cached, 'Private key for REDIS_CERT (PEM)'),
  }),
  ...inSection('Secrets', {
    JWT_SECRET: setting(tokens, variables.secret('signs the tokens'), {
      embedded: variables.secret('signs the tokens').optional(),
      ...madeOnce,
      meaning: "Signs users' tokens",
      note: 'A new value logs everyone out unless the old one is in JWT_SECRET_PREVIOUS.',
    }),
    INTERNAL_SECRET: setting(edge, variables.secret('signs who is calling'), {
      embedded: variables.secret('signs who is calling').optional(),
      ...madeOnce,
      meaning: 'Signs who is calling, for services and upstreams. Only the gateway has it',
      note: 'An Ed25519 private key, or any text.',
    }),
    CALLER_KEYS: setting(serviceNames, variables.callerKeys(), {
      ...ofCluster,
      meaning: 'Public keys that services trust, one per line: `gateway <key>` and `operator <key>`',
      note: 'deploy/make-secrets.sh writes them. `gatehouse keys` prints those of INTERNAL_SECRET and OPERATOR_SECRET.',
    }),
    OPERATOR_SECRET: setting([], variables.secret('signs what the operator calls'), {
      chosenBy: distributed,
      isSecret: true,
      preset: 'required by the command line',
      meaning: 'Signs requests of the command line. No running process has it',
    }),
    JWT_SECRET_PREVIOUS: setting(tokens, variables.previousSecrets(), {
      isSecret: true,
      meaning: 'Secrets that verify tokens and never sign, one per line (for rotations)',
      note: 'See docs/operate/rotate-secrets.md.',
    }),
    INTERNAL_SECRET_PREVIOUS: setting(edge, variables.previousSecrets(), {
      isSecret: true,
      meaning: 'Secrets whose public keys upstreams learn, one per line (for rotations)',
    }),
  }),
  ...inSection('Encryption at rest', {
    ENCRYPTION_SECRET: setting(federated, variables.secret('encrypts what must be read again'), {
      embedded: variables.secret('encrypts what must be read again').optional(),
      ...madeOnce,
      meaning: 'Encrypts stored secrets: two-factor keys, peer secrets, passwords for other instances',
      note: 'Without it, what it encrypted is lost: keep a copy apart from the backups of the database.',
    }),
    ENCRYPTION_SECRET_PREVIOUS: setting(federated, variables.previousSecrets(), {
      isSecret: true,
      meaning: 'Secrets that decrypt and never encrypt, one per line (for rotations)',
    }),
  }),
  ...inSection('Accounts', {
    JWT_EXPIRES_IN: setting(accounts, variables.duration('30d'), { meaning: 'Lifetime of a token' }),
    PASSKEY_ORIGINS: setting(tokens, variables.passkeyOrigins(), {
      preset: '',
      meaning: 'Other origins where passkeys of this instance work, comma-separated',
      note: 'Example: https://www.chat.example,android:apk-key-hash:<hash>. PUBLIC_ORIGIN always works, and must lead to the gateway: browsers read the list at /.well-known/webauthn.',
    }),
    JWT_RENEW: setting(accounts, variables.flag(true), {
      meaning: 'Whether a token older than a day is renewed, so that a session lasts while it is used',
    }),
    PASSWORDS: setting(accounts, variables.flag(true), {
      meaning: 'Whether local users log in with a password. `false`: only with an identity provider or a passkey',
    }),
    REGISTRATION_OPEN: setting(accounts, variables.flag(true), {
      meaning: 'Whether anyone can register, until an admin changes the setting',
    }),
    HASHING_THREADS: setting(accounts, variables.count(availableParallelism(), { max: 256 }), {
      preset: 'one per core',
      meaning: 'Threads that hash passwords',
    }),
    HASHING_QUEUE: setting(accounts, variables.count(100), {
      meaning: 'Maximum number of requests waiting for a hashing thread',
    }),
    AUDIT_RETENTION_DAYS: setting(accounts, variables.count(0, { min: 0, max: 36_500 }), {
      preset: 'forever',
      meaning: 'Days to keep audit log entries',
    }),
  }),
  ...inSection('Mail', {
    SMTP_URL: setting(accounts, variables.text(''), {
      isSecret: true,
      meaning: 'Server that sends mail: smtps://…, or smtp://… with STARTTLS. Without it, this instance sends none',
      note: 'Examples: smtps://user:password@mail.example, smtp://user:password@mail.example:587. smtp:// requires STARTTLS, except on a loopback address. See docs/operate/data-services.md.',
    }),
    SMTP_CA: setting(accounts, variables.pem(), {
      isSecret: true,
      meaning: "CA certificate for this server (PEM; default: the system's)",
    }),
    MAIL_FROM: setting(accounts, variables.text(''), {
      meaning: 'Sender of all mail, required with SMTP_URL',
      note: 'Example: Chat <noreply@chat.example>',
    }),
    MAIL_HOURLY_LIMIT: setting(accounts, variables.count(1_000), {
      meaning: 'Maximum number of mails an hour. Others wait',
    }),
  }),
  ...inSection('Federation: additional outbound targets', {
    FEDERATION_ALLOW_PRIVATE: setting(federated, variables.text(''), {
      meaning: 'Private networks (CIDRs) that outbound requests may reach, also over plain HTTP',
      note: 'Example: 10.1.0.0/16,192.168.7.4/32',
    }),
    FEDERATION_RESOLVE: setting(federated, variables.text(''), {
      meaning: 'Overrides for host names (split-horizon DNS, tests)',
      note: 'Example: peer.example=10.1.2.3:8443',
    }),
  }),
  ...inSection('Data and uploads', {
    GATEHOUSE_DATA: setting(tokens, variables.text('.gatehouse'), {
      chosenBy: distributed,
      meaning: 'The data folder: PostgreSQL of `npm start`, secrets, uploads, the built web app',
    }),
    UPLOAD_DIR: setting(accounts, variables.text(''), {
      chosenBy: containers,
      preset: '`<data>/uploads`',
      meaning: 'Folder of the uploads, shared by all identity replicas. With S3, working space of each replica',
    }),
    UPLOAD_STORE: setting(accounts, variables.uploadStore(), {
      preset: '`file:<UPLOAD_DIR>`',
      meaning: 'Where uploads are stored: a folder, or `s3://bucket/prefix`',
      note: 'See docs/operate/store-uploads-in-s3.md.',
    }),
    AWS_ENDPOINT_URL: setting(accounts, variables.text(''), {
      preset: '`https://s3.<AWS_REGION>.amazonaws.com`',
      meaning: "Another provider's S3 server",
      note: 'Example: https://s3.example:9000',
    }),
    AWS_REGION: setting(accounts, variables.text('us-east-1'), { meaning: "The bucket's region" }),
    AWS_ACCESS_KEY_ID: s3Key('ID of the key that reads and writes the bucket'),
    AWS_SECRET_ACCESS_KEY: s3Key('Secret key'),
    AWS_SESSION_TOKEN: s3Key('Session token of a temporary key'),
    WEB_ROOT: setting(edge, variables.text(''), {
      chosenBy: containers,
      preset: '`<data>/web`',
      meaning: 'The built web app',
    }),
  }),
  ...inSection('Addresses of the services (distributed)', {
    ...urls,
    SERVICE_DNS: setting(['gateway'], variables.nameServers(), {
      meaning: "DNS servers for these names (fully qualified) instead of the system's",
      note: 'Example: 10.0.0.2:53,10.0.0.3:53',
    }),
    ...(Object.fromEntries(ports) as Ports),
  }),
  ...inSection('Upstreams', {
    GATEHOUSE_PROVIDERS: setting(accounts, variables.text(''), {
      meaning: 'Path of the YAML or JSON file that names the identity providers (OpenID Connect)',
      note: 'Docker Compose: /run/secrets/identity_providers, which is deploy/secrets/identity_providers.',
    }),
    GATEHOUSE_UPSTREAMS: setting(routed, variables.text(''), {
      meaning: 'Path of the YAML or JSON file that declares your own services',
      note: 'Docker Compose: /etc/gatehouse/upstreams.yaml, which is deploy/upstreams/upstreams.yaml.',
    }),
  }),
  ...inSection('Operations', {
    OPS_HOST: setting(['gateway'], variables.text('0.0.0.0'), {
      chosenBy: distributed,
      preset: '`127.0.0.1` (distributed: `0.0.0.0`)',
      meaning: "Address of the gateway's `/healthz`, `/readyz` and `/metrics`. Services serve them on their own ports",
    }),
    OPS_PORT: setting(edge, variables.port(9090), {
      embedded: variables.port(0),
      chosenBy: distributed,
      preset: 'any free port (distributed: `9090`)',
      meaning: 'Port of these paths',
    }),
    LOG_LEVEL: setting(all, variables.logLevel(), {
      meaning: 'Log level: fatal, error, warn, info, debug, trace or silent',
    }),
    LOG_ADDRESSES: setting(edge, variables.flag(false), {
      meaning: 'Whether request logs include client addresses',
    }),
    OTEL_EXPORTER_OTLP_ENDPOINT: setting(all, receiver.optional(), { meaning: 'Receiver of traces (OTLP over HTTP)' }),
    OTEL_TRACES_SAMPLER_ARG: setting(all, variables.share(1), {
      meaning: 'Share of traces to record, from 0 to 1',
    }),
    OTEL_EXPORTER_OTLP_HEADERS: setting(all, variables.text(''), {
      meaning: 'Extra headers for the receiver. Other OpenTelemetry variables are ignored',
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

export type SettingsOf<R extends Reader> = { [N in NameOf<R>]: z.output<KindOf<N, R>> }

/** As `configure`. Throws ConfigurationError with every fault. */
export function readSettings<R extends Reader, T>(
  reader: R,
  environment: Environment,
  build: (values: SettingsOf<R>, part: Part<SettingsOf<R>>) => T,
): T {
  const shape: Record<string, z.ZodType> = {}
  for (const [name, setting] of Object.entries<Setting>(settings)) {
    if (!setting.readers.includes(reader)) continue
    shape[name] = (reader === 'embedded' ? setting.embedded : undefined) ?? setting.kind
  }
  return configure(environment, shape, (values, part) => build(values as SettingsOf<R>, part as Part<SettingsOf<R>>))
}

export function listSettings(): (Setting & { name: string })[] {
  return Object.entries<Setting>(settings).map(([name, setting]) => ({ ...setting, name }))
}
