import { access, constants } from 'node:fs/promises'
import { connect } from 'node:tls'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { connectNats } from '@gatehouse/bus'
import { connectRedisCache } from '@gatehouse/auth'
import { endpoints } from '@gatehouse/contracts'
import { databaseTime, explainServerFault, requireKnownSchema, takesWrites } from '@gatehouse/database'
import { systemRandom } from '@gatehouse/runtime'
import {
  natsAddress,
  publicAddress,
  readVariables,
  redisAddress,
  uploadConfig,
  uploadSettings,
} from '@gatehouse/service-kit'
import { z } from 'zod'
import { openUploadStore } from '../../../services/identity/src/uploads/open-upload-store.ts'
import { configured, dataFolderOf, isDistributed, kindsOf, namesUploads, withDatabase } from '../instance.ts'
import { findRunningInstance, type RunningInstance } from '../../calls/operator-calls.ts'
import { CommandFailure } from '../failure.ts'
import { table, type Define, type Environment, type Invocation, type Result } from '../invocation.ts'

type Finding = { check: string; ok: boolean | null; detail: string }
type Log = Record<'warn' | 'error', (fields: { err?: unknown }) => void>

const questionMs = 10_000
const serverMs = 5_000
const certificateDays = 14
const clockToleranceMs = 5_000
const dayMs = 24 * 60 * 60 * 1000

/** `check`: what an operator would look at after a change. docs/operators.md, "Command line". */
export function defineCheckCommand(define: Define): void {
  const subjects =
    'configuration, connections, pending migrations, clock, uploads, certificate, the own origin and whose X-Forwarded-For it believes'
  define('check', `Looks at ${subjects}`, async (invocation) => {
    const checks = await checkAll(invocation)
    const isHealthy = checks.every(({ ok }) => ok !== false)
    const rows = checks.map(({ check, ok, detail }) => [ok ? 'ok' : ok === null ? 'skipped' : 'WRONG', check, detail])
    const result = { json: { ok: isHealthy, checks }, text: table(['', 'check', ''], rows) }
    if (isHealthy) return result
    throw new UnhealthyInstance(result)
  })
}

/** What was found is printed too. */
export class UnhealthyInstance extends CommandFailure {
  readonly result: Result
  constructor(result: Result) {
    super('unhealthy', 'something is wrong')
    this.result = result
  }
}

async function checkAll({ environment, now }: Invocation): Promise<Finding[]> {
  const own: { instanceId?: string | undefined } = {}
  const { instance, unreadable, ...urls } = await readSubjects(environment)
  const origin = instance?.origin ?? originOf(environment)
  return [
    await finding('configuration', async () => readConfiguration(environment, instance)),
    unreadable ?? (await optional('database', urls.database, (url) => checkDatabase(url, now, own))),
    await optional('bus (NATS)', urls.nats, async (url, log) => {
      const tls = readVariables(environment, kindsOf('NATS_CA', 'NATS_CERT', 'NATS_KEY'))
      await using bus = await connectNats({ ...natsAddress({ NATS_URL: url, ...tls }), name: 'check', log })
      return await answers(() => bus.ready())
    }),
    await optional('cache (Redis)', urls.redis, async (url, log) => {
      const given = { REDIS_URL: url, ...readVariables(environment, kindsOf('REDIS_CA', 'REDIS_CERT', 'REDIS_KEY')) }
      await using cache = await connectRedisCache({ ...redisAddress(given), random: systemRandom, log })
      return await answers(() => cache.ready())
    }),
    await checkUploads(environment, instance),
    await optional('certificate', origin.startsWith('https:') ? origin : '', (https) => checkCertificate(https, now)),
    await optional('own origin', origin, (url) => checkOrigin(url, own.instanceId)),
    await checkForwarded(origin),
  ]
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
    if (!instance) throw new Error('no instance runs on this data folder, and there is no DATABASE_URL')
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
  if (!subject) return { check, ok: null, detail: 'not part of this environment' }
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
    const asked = now()
    const skewMs = Math.round(Math.abs((await databaseTime(orm.em.fork())) - (asked + now()) / 2))
    if (skewMs > clockToleranceMs) throw new Error(`its clock is ${skewMs} ms from the one here: run NTP on both`)
    const found = orm.em.fork().execute<{ id: string }[]>('select instance_id as id from instance_settings')
    own.instanceId = (await found.catch(() => []))[0]?.id // the role of invite may not read it
    return `answers, no pending migrations, clock within ${skewMs} ms`
  })

async function checkUploads(environment: Environment, instance: RunningInstance | null): Promise<Finding> {
  const check = 'uploads'
  if (!instance && !namesUploads(environment))
    return { check, ok: null, detail: 'neither UPLOAD_STORE nor UPLOAD_DIR is in this environment' }
  return await finding(check, async () => {
    const given = () => uploadConfig(readVariables(environment, uploadSettings), dataFolderOf(environment))
    const { uploadStore: config } = instance ?? configured(given)
    const store = await openUploadStore(config)
    await store.check()
    if (!('folder' in config)) return `${store.name} answers, with these keys`
    await access(config.folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return `${store.name} is there and writable`
  })
}

async function checkCertificate(origin: string, now: () => number): Promise<string> {
  const { hostname, port } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port || 443), servername: hostname })
  socket.setTimeout(questionMs, () => socket.destroy(new Error('no answer in time')))
  try {
    await once(socket, 'secureConnect')
    const days = Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - now()) / dayMs)
    if (days < certificateDays) throw new Error(`it ends in ${days} days`)
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

/** A request counts for the address that the gateway takes it from. Where the header hides that of this computer it is believed. */
async function checkForwarded(origin: string): Promise<Finding> {
  const check = 'X-Forwarded-For'
  const isBelieved = origin ? await believesForwarded(origin).catch(() => undefined) : undefined
  if (isBelieved === undefined)
    return { check, ok: null, detail: 'the own origin tells no limit, by which this is known' }
  const detail = `that of this computer is ${isBelieved ? '' : 'not '}believed`
  const meaning = isBelieved ? ', and that of every client with its address: TRUST_PROXY may name proxies alone' : ''
  return { check, ok: !isBelieved, detail: `${detail}${meaning}` }
}

/** Undefined: nothing tells. */
async function believesForwarded(origin: string): Promise<boolean | undefined> {
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
