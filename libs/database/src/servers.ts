import pg from 'pg'
import { DatabaseUnavailable, isAnswerOfServer, type Servers } from './driver.ts'
import { connectTimeoutMs } from './policy.ts'
import { chooseTls, explainTls, listTls, withoutTlsParameters, type DatabaseTls } from './tls.ts'

/** One of DATABASE_URL. `url` names it alone. */
export type Server = { url: string; host: string; port: number; ssl: DatabaseTls }

const targets = ['any', 'primary', 'read-write'] as const
type Target = (typeof targets)[number]

const parameter = 'target_session_attrs'

/**
 * A URL for each host of DATABASE_URL, in its order, and what the server has to be. Throws DatabaseUnavailable for a kind
 * of server with which an instance cannot work. Contract: 8, Several PostgreSQL servers.
 */
export function listServers(url: string, environment: NodeJS.ProcessEnv = process.env) {
  const [, start = '', hosts = '', end = ''] = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(url) ?? []
  const urls = hosts.includes(',') ? hosts.split(',').map((host) => start + host + end) : [url]
  if (!urls.every((each) => URL.canParse(each))) return { urls, target: 'any' as Target }
  const parsed = urls.map((each) => new URL(each))
  const [{ searchParams }] = parsed as [URL]
  if (searchParams.get('host')?.includes(','))
    throw new DatabaseUnavailable('DATABASE_URL: name several hosts before the path: postgres://…@host,host/gatehouse')
  const target = searchParams.get(parameter) ?? (environment['PGTARGETSESSIONATTRS'] || 'any')
  if (!(targets as readonly string[]).includes(target))
    throw new DatabaseUnavailable(`DATABASE_URL: ${parameter} must be one of ${targets.join(', ')}`)
  const without = (each: URL) => {
    each.searchParams.delete(parameter)
    return each.href
  }
  return { urls: searchParams.has(parameter) ? parsed.map(without) : urls, target: target as Target }
}

/**
 * The first server of DATABASE_URL that answers and is of the kind that it asks for. A server that is the only one, of any
 * kind, may be away. Throws DatabaseUnavailable with the reason of each.
 */
export async function findServer(url: string): Promise<Server> {
  const { urls, target } = listServers(url)
  const [only = url] = urls
  if (urls.length === 1 && target === 'any') return { ...addressOf(only), ssl: await chooseTls(only) }
  const reasons: string[] = []
  let cause: unknown
  for (const each of urls) {
    const address = addressOf(each)
    try {
      return { ...address, ssl: await lookAt(each, target) }
    } catch (error) {
      cause = error
      reasons.push(`${address.host}:${address.port} ${explainConnectFault(error) ?? (error as Error).message}`)
      // As in libpq.
      if (isAnswerOfServer(error)) break
    }
  }
  throw new DatabaseUnavailable(`DATABASE_URL: no PostgreSQL server can be used: ${reasons.join('; ')}`, { cause })
}

/** Not connected yet. A lost connection rejects its statements. Errors are those of `connectDatabase`. */
export async function createClient(url: string, applicationName: string): Promise<pg.Client> {
  const server = await findServer(url)
  const config = {
    connectionString: withoutTlsParameters(server.url),
    application_name: applicationName,
    ssl: server.ssl,
  }
  return new pg.Client(config).on('error', () => undefined)
}

/** Gives the choice of TLS that it takes. Throws where it is away or of another kind. */
async function lookAt(url: string, target: Target): Promise<DatabaseTls> {
  const [first = false, second] = listTls(url)
  try {
    await askForKind(url, first, target)
    return first
  } catch (error) {
    if (second === undefined || explainTls(error) === undefined) throw error
    await askForKind(url, second, target)
    return second
  }
}

type Kind = { isStandby: boolean; isReadOnly: boolean }

async function askForKind(url: string, ssl: DatabaseTls, target: Target): Promise<void> {
  const limits = { connectionTimeoutMillis: connectTimeoutMs, query_timeout: connectTimeoutMs }
  const client = new pg.Client({ connectionString: withoutTlsParameters(url), ssl, ...limits })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<Kind>(
      `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly"`,
    )
    const [{ isStandby, isReadOnly }] = rows as [Kind]
    if (target === 'primary' && isStandby) throw new Error('is a standby')
    if (target === 'read-write' && isReadOnly) throw new Error('takes no writes')
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Gives the cause and the remedy, or what a server or a pooler answered; undefined where none did. */
export function explainConnectFault(error: unknown): string | undefined {
  const why = explainTls(error)
  if (why !== undefined) return why
  for (let fault = error; fault instanceof Error; fault = fault.cause)
    if ('severity' in fault && fault.severity) return `it refuses the connection: ${fault.message}`
  return undefined
}

function addressOf(url: string): Omit<Server, 'ssl'> {
  const { hostname = '', port = '', searchParams } = URL.parse(url) ?? {}
  const host = searchParams?.get('host') ?? hostname.replace(/^\[|\]$/g, '')
  return { url, host, port: Number(port || 5432) }
}

/**
 * Where the new connections of a pool lead: to one server, until it is away or not of the kind any more. Undefined for a
 * DATABASE_URL with one server of any kind.
 */
export function followServers(url: string, firstServer: Server): Servers | undefined {
  const { urls, target } = listServers(url)
  if (urls.length === 1 && target === 'any') return undefined
  let current = firstServer
  let isLeft = false
  let finding: Promise<void> | undefined

  async function find(): Promise<void> {
    current = await findServer(url)
    isLeft = false
  }
  const findOnce = () => (finding ??= find().finally(() => (finding = undefined)))
  const leave: Servers['leave'] = (server) => {
    if (server === current) isLeft = true
  }
  return {
    current: () => current,
    leave,
    leaveReadOnly: (server) => {
      if (target !== 'any') leave(server)
    },
    follow: (connect) => async () => {
      if (isLeft) await findOnce()
      const server = current
      try {
        return await connect()
      } catch (error) {
        if (server === current && !isLeft) throw error
        await findOnce()
        return await connect()
      }
    },
  }
}
