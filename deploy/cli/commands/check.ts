import { connectRedisCache } from '@gatehouse/authority'
import { access, constants } from 'node:fs/promises'
import { connect } from 'node:tls'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { connectNats } from '@gatehouse/bus'
import { openRedisClient, type RedisAddress } from '@gatehouse/auth'
import { endpoints, type EmailReply } from '@gatehouse/contracts'
import { databaseTime, explainServerFault, requireKnownSchema, takesWrites } from '@gatehouse/database'
import { openMailer, renderMail } from '@gatehouse/mail'
import { createOutbound } from '@gatehouse/outbound'
import { createProviders } from '@gatehouse/providers'
import { systemClock, systemRandom } from '@gatehouse/runtime'
import {
  checkStreams,
  mailConfig,
  natsAddress,
  publicAddress,
  readFederation,
  readProviders,
  readVariables,
  redisAddress,
  uploadConfig,
  uploadSettings,
} from '@gatehouse/service-kit'
import { openUploadStore } from '@gatehouse/uploads'
import { z } from 'zod'
import { configured, dataFolderOf, isDistributed, kindsOf, namesUploads, withDatabase } from '../instance.ts'
import { findRunningInstance, type RunningInstance } from '../../calls/operator-calls.ts'
import { ReportedFailure } from '../failure.ts'
import { findUser } from './users.ts'
import { table, type Define, type Environment, type Invocation } from '../invocation.ts'

type Finding = { check: string; ok: boolean | null; detail: string }
type Log = Record<'warn' | 'error', (fields: { err?: unknown }) => void>

const questionMs = 10_000
const serverMs = 5_000
const certificateDays = 14
const clockToleranceMs = 5_000
const dayMs = 24 * 60 * 60 * 1000

/** `check`: what an operator would look at after a change. docs/reference/command-line.md. */
export function defineCheckCommand(define: Define): void {
  const subjects =
    'configuration, connections, migrations, clock, uploads, identity providers, mail, certificate, public address and trusted proxies'
  define<{ mail?: string }>('check', `Check ${subjects}`, async (invocation, { mail }) => {
    const checks = await checkAll(invocation, mail)
    const isHealthy = checks.every(({ ok }) => ok !== false)
    const rows = checks.map(({ check, ok, detail }) => [ok ? 'ok' : ok === null ? 'skipped' : 'FAIL', check, detail])
    const result = { json: { ok: isHealthy, checks }, text: table(['', 'check', ''], rows) }
    if (isHealthy) return result
    throw new ReportedFailure('unhealthy', 'some checks failed', result)
  }).option('--mail <user>', 'Send a test mail to the confirmed address of this user')
}

async function checkAll(invocation: Invocation, testMailTo: string | undefined): Promise<Finding[]> {
  const { environment, now } = invocation
  const own: { instanceId?: string | undefined } = {}
  const { instance, unreadable, ...urls } = await readSubjects(environment)
  const origin = instance?.origin ?? originOf(environment)
  return [
    await finding('configuration', async () => readConfiguration(environment, instance)),
    unreadable ?? (await optional('database', urls.database, (url) => checkDatabase(url, now, own))),
    await optional('bus (NATS)', urls.nats, async (url, log) => {
      const tls = readVariables(environment, kindsOf('NATS_CA', 'NATS_CERT', 'NATS_KEY'))
      await using bus = await connectNats({
        ...natsAddress({ NATS_URL: url, ...tls }),
        name: 'check',
        log,
        createsStreams: false,
      })
      const answer = await answers(() => bus.ready())
      await checkStreams(bus)
      return answer
    }),
    await optional('cache (Redis)', urls.redis, async (url, log) => {
      const connection = {
        REDIS_URL: url,
        ...readVariables(environment, kindsOf('REDIS_CA', 'REDIS_CERT', 'REDIS_KEY')),
      }
      return await checkRedis(redisAddress(connection), log)
    }),
    await checkUploads(environment, instance),
    await checkProviders(environment, instance),
    await checkMail(invocation, instance, testMailTo),
    await optional('certificate', origin.startsWith('https:') ? origin : '', (https) => checkCertificate(https, now)),
    await optional('public address', origin, (url) => checkOrigin(url, own.instanceId)),
    await checkForwarded(origin),
  ]
}

/** Of a cluster: every primary answers, and every slot has one. */
async function checkRedis(address: RedisAddress, log: Log): Promise<string> {
  await using cache = await connectRedisCache({ ...address, random: systemRandom, log })
  const answer = await answers(() => cache.ready())
  const client = await openRedisClient(address)
  client.on('error', (err: Error) => log.warn({ err }))
  try {
    await answers(() => client.status === 'ready')
    const primaries = 'nodes' in client ? client.nodes('master') : [client]
    const faults = await Promise.all(primaries.map(async (primary) => findMemoryFault(await primary.info('memory'))))
    const fault = faults.find((one) => one !== undefined)
    if (fault) throw new Error(fault)
    return 'nodes' in client ? `${answer}, ${primaries.length} primaries have all slots` : answer
  } finally {
    client.disconnect()
  }
}

/** Without a memory limit, no policy applies. `volatile-ttl` evicts account states first, which live the shortest. */
function findMemoryFault(info: string): string | undefined {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
  const isLimited = /^maxmemory:[1-9]/m.test(info)
  if (!isLimited || policy === undefined || policy === 'volatile-ttl') return undefined
  const effect = policy === 'noeviction' ? 'rejects writes when memory is full' : 'may evict rate limits early'
  return `maxmemory-policy ${policy} ${effect}: set volatile-ttl`
}

/** The running instance knows its own addresses, whatever this environment says. */
async function readSubjects(environment: Environment) {
  const anyText = z.string().optional()
  const shape = { DATABASE_URL: anyText, NATS_URL: anyText, REDIS_URL: anyText }
  const { DATABASE_URL, NATS_URL, REDIS_URL } = configured(() => readVariables(environment, shape))
  const urls = { database: DATABASE_URL, nats: NATS_URL, redis: REDIS_URL }
  if (isDistributed(environment)) return { ...urls, instance: null, unreadable: null }
  try {
    const instance = await findRunningInstance(dataFolderOf(environment))
    if (!instance) throw new Error('no instance is running on this data folder, and DATABASE_URL is not set')
    return { ...urls, ...instance.servers, database: instance.databaseUrl, instance, unreadable: null }
  } catch (error) {
    return { ...urls, instance: null, unreadable: { check: 'database', ok: false, detail: (error as Error).message } }
  }
}

/** A client goes on connecting while it is looked at. */
async function answers(isReady: () => boolean): Promise<string> {
  for (let waitedMs = 0; !isReady(); waitedMs += 100) {
    if (waitedMs >= serverMs) throw new Error('does not answer')
    await pause(100)
  }
  return 'answers'
}

/** What a server's client only logs is a reason too. */
async function finding(check: string, look: (log: Log) => Promise<string>): Promise<Finding> {
  let logged: unknown
  const keep: Log['warn'] = ({ err }) => void (logged = err ?? logged)
  try {
    return { check, ok: true, detail: await look({ warn: keep, error: keep }) }
  } catch (error) {
    const { message, cause = logged } = error as Error
    const reason = cause instanceof Error && (cause.message || (cause as NodeJS.ErrnoException).code)
    return { check, ok: false, detail: `${message}${reason ? ` (${reason})` : ''}`.replaceAll('\n', '; ') }
  }
}

async function optional(check: string, subject: string | undefined, look: (url: string, log: Log) => Promise<string>) {
  if (!subject) return { check, ok: null, detail: 'not configured here' }
  return await finding(check, (log) => look(subject, log))
}

const readAddress = (environment: Environment) =>
  publicAddress(readVariables(environment, kindsOf('PORT', 'PUBLIC_ORIGIN', 'DOMAIN')))

function readConfiguration(environment: Environment, instance: RunningInstance | null): string {
  const origin = instance?.origin ?? configured(() => readAddress(environment)).origin
  const form = instance?.servers ? 'a cluster' : 'embedded'
  return `${isDistributed(environment) ? 'distributed' : `${form} in ${dataFolderOf(environment)}`}, known as ${origin}`
}

function originOf(environment: Environment): string {
  try {
    return readAddress(environment).origin
  } catch {
    return ''
  }
}

const checkDatabase = (url: string, now: () => number, own: { instanceId?: string | undefined }) =>
  withDatabase(url, async (orm) => {
    await requireKnownSchema(orm)
    const pending = await orm.migrator.getPending()
    if (pending.length > 0) throw new Error(`${pending.length} pending migrations: run \`npm run migrate\``)
    if (!(await takesWrites(orm.em.fork()))) throw new Error(explainServerFault('readOnly'))
    const askedAt = now()
    const skewMs = Math.round(Math.abs((await databaseTime(orm.em.fork())) - (askedAt + now()) / 2))
    if (skewMs > clockToleranceMs) throw new Error(`its clock is ${skewMs} ms off: run NTP on both machines`)
    const rows = orm.em.fork().execute<{ id: string }[]>('select instance_id as id from instance_settings')
    own.instanceId = (await rows.catch(() => []))[0]?.id // the role of invite may not read it
    return `answers, no pending migrations, clock within ${skewMs} ms`
  })

async function checkUploads(environment: Environment, instance: RunningInstance | null): Promise<Finding> {
  const check = 'uploads'
  if (!instance && !namesUploads(environment))
    return { check, ok: null, detail: 'neither UPLOAD_STORE nor UPLOAD_DIR is in this environment' }
  return await finding(check, async () => {
    const readConfig = () => uploadConfig(readVariables(environment, uploadSettings), dataFolderOf(environment))
    const { uploadStore: config } = instance ?? configured(readConfig)
    const store = await openUploadStore(config)
    await store.check()
    if (!('folder' in config)) return `${store.name} answers, with these keys`
    await access(config.folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return `${store.name} is there and writable`
  })
}

/** What each says of itself. */
async function checkProviders(environment: Environment, instance: RunningInstance | null): Promise<Finding> {
  const variables = readVariables(
    environment,
    kindsOf('GATEHOUSE_PROVIDERS', 'FEDERATION_ALLOW_PRIVATE', 'FEDERATION_RESOLVE'),
  )
  const path = instance ? instance.providers?.file : variables.GATEHOUSE_PROVIDERS
  return await optional('identity providers', path, async (file) => {
    await using outbound = createOutbound(instance?.providers?.reach ?? readFederation(variables))
    const current = await readProviders(file)
    await createProviders({ outbound, clock: systemClock }, { current }).check()
    return `${current.map(({ id }) => id).join(', ')}: each answers as its issuer`
  })
}

/** Connects and logs in as the sender does. With a user, sends. */
async function checkMail(
  { environment, call, now }: Invocation,
  instance: RunningInstance | null,
  username: string | undefined,
): Promise<Finding> {
  const kinds = kindsOf('SMTP_URL', 'SMTP_CA', 'MAIL_FROM', 'MAIL_HOURLY_LIMIT')
  const mail = instance ? instance.mail : configured(() => mailConfig(readVariables(environment, kinds)).mail)
  return await optional('mail', mail?.host, async (host) => {
    if (!mail) return ''
    using mailer = await openMailer({ ...mail, attemptMs: questionMs })
    await mailer.verify()
    if (username === undefined) return `${host} answers, with this login`
    const { id } = await findUser({ call }, username)
    const { email } = (await call({ endpoint: 'describeUser', params: { id } })) as { email?: EmailReply | null }
    if (!email?.confirmed) throw new Error(`${username} has no confirmed email address`)
    const origin = instance?.origin ?? originOf(environment)
    const { hostname } = new URL(origin)
    const data = { username }
    const written = renderMail({ kind: 'test', language: 'en', data, instance: hostname, origin })
    const messageId = `<${systemRandom.uuid()}@${hostname}>`
    const message = { messageId, to: email.address, sender: hostname, language: 'en', written } as const
    const failure = await mailer.send({ ...message, at: new Date(now()) })
    if (failure)
      throw new Error(`${host} did not accept the test mail`, { cause: new Error(JSON.stringify(failure.log)) })
    return `${host} accepted the test mail to ${username}: look into the mailbox`
  })
}

async function checkCertificate(origin: string, now: () => number): Promise<string> {
  const { hostname, port } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port || 443), servername: hostname })
  socket.setTimeout(questionMs, () => socket.destroy(new Error('no answer in time')))
  try {
    await once(socket, 'secureConnect')
    const days = Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - now()) / dayMs)
    if (days < certificateDays) throw new Error(`expires in ${days} days`)
    return `trusted, ends in ${days} days`
  } finally {
    socket.destroy()
  }
}

async function checkOrigin(origin: string, instanceId: string | undefined): Promise<string> {
  const asking = { redirect: 'error', signal: AbortSignal.timeout(questionMs) } as const
  const response = await fetch(`${origin}/api/instance/info`, asking)
  const info = response.ok ? ((await response.json()) as Record<string, unknown>) : {}
  if (typeof info['instanceId'] !== 'string' || info['instanceId'] !== (instanceId ?? info['instanceId']))
    throw new Error(`${origin} answers ${response.status} and not as this instance`)
  return `answers as ${String(info['name'])}, version ${String(info['version'])}`
}

/** The gateway counts a request for the address that it trusts. A header that changes the count is trusted. */
async function checkForwarded(origin: string): Promise<Finding> {
  const check = 'X-Forwarded-For'
  const isTrusted = origin ? await trustsForwarded(origin).catch(() => undefined) : undefined
  if (isTrusted === undefined) return { check, ok: null, detail: 'the public address returns no rate limit to tell by' }
  const remedy =
    'of this computer is trusted, so each client with its address can forge it: name only proxies in TRUST_PROXY'
  return { check, ok: !isTrusted, detail: isTrusted ? remedy : 'of this computer is not trusted' }
}

/** Undefined: nothing tells. */
async function trustsForwarded(origin: string): Promise<boolean | undefined> {
  const readRemaining = async (headers: Record<string, string> = {}) => {
    const asking = { headers, redirect: 'error', signal: AbortSignal.timeout(questionMs) } as const
    const response = await fetch(`${origin}${endpoints.checkInvite.path}?token=none`, asking)
    await response.body?.cancel()
    return Number(response.headers.get('ratelimit-remaining') ?? Number.NaN)
  }
  await readRemaining()
  const before = await readRemaining()
  // For documentation, so that nobody has it. RFC 5737.
  const forwarded = await readRemaining({ 'x-forwarded-for': `198.51.100.${1 + systemRandom.below(254)}` })
  const after = await readRemaining()
  if (Number.isNaN(before + forwarded + after)) return undefined
  // A limit that began anew in between shows in the last one too.
  return forwarded >= before && after < before
}
