import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { checkServerIdentity, type ConnectionOptions } from 'node:tls'
import pg from 'pg'
import { DatabaseUnavailable } from './driver.ts'
import { connectTimeoutMs } from './policy.ts'

export type DatabaseTls = false | ConnectionOptions

const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
type Mode = (typeof modes)[number]

const isMode = (text: string): text is Mode => (modes as readonly string[]).includes(text)

/** pg reads some of them in its own way. */
const parameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'ssl'] as const

export function withoutTlsParameters(url: string): string {
  if (!URL.canParse(url)) return url
  const parsed = new URL(url)
  for (const name of parameters) parsed.searchParams.delete(name)
  return parsed.href
}

/** As in libpq. Throws DatabaseUnavailable for an unknown mode or a file. Contract: 8, TLS to PostgreSQL. */
export function listTls(url: string, environment: NodeJS.ProcessEnv = process.env): DatabaseTls[] {
  if (!URL.canParse(url)) return [false]
  const { hostname, searchParams } = new URL(url)
  const host = searchParams.get('host') ?? hostname.replace(/^\[|\]$/g, '')
  // A socket file has no encryption.
  if (host.startsWith('/')) return [false]
  const parameterOf = (name: (typeof parameters)[number]) =>
    searchParams.get(name) ?? (environment[`PG${name.toUpperCase()}`] || undefined)
  const preset = parameterOf('sslrootcert') === 'system' ? 'verify-full' : 'prefer'
  const mode = searchParams.get('sslmode') ?? readSsl(searchParams.get('ssl')) ?? (environment['PGSSLMODE'] || preset)
  if (!isMode(mode)) throw new DatabaseUnavailable(`DATABASE_URL: sslmode must be one of ${modes.join(', ')}`)
  if (mode === 'disable') return [false]
  const root = readRoot(mode, parameterOf('sslrootcert'))
  const cert = readOwn('sslcert', parameterOf('sslcert'), 'crt')
  const key = cert === undefined ? undefined : readOwn('sslkey', parameterOf('sslkey'), 'key')
  if (cert !== undefined && key === undefined) throw new DatabaseUnavailable('DATABASE_URL: sslcert needs sslkey')
  const tls: ConnectionOptions = {
    ...(cert !== undefined && { cert, key }),
    ...(root.ca !== undefined && { ca: root.ca }),
    // As in libpq, a known authority is always verified.
    rejectUnauthorized: root.isSystem || root.ca !== undefined,
    checkServerIdentity: (_, certificate) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
  }
  if (mode === 'allow') return [false, tls]
  return mode === 'prefer' ? [tls, false] : [tls]
}

function readSsl(value: string | null): Mode | undefined {
  if (value === null) return undefined
  if (value === 'true') return 'require'
  throw new DatabaseUnavailable('DATABASE_URL: ssl can be true alone; sslmode says more')
}

const ownFile = (name: string): string => join(homedir(), '.postgresql', name)

function readRoot(mode: Mode, file: string | undefined): { ca?: string; isSystem: boolean } {
  if (file === 'system') {
    if (mode === 'verify-full') return { isSystem: true }
    throw new DatabaseUnavailable('DATABASE_URL: sslrootcert=system needs sslmode=verify-full')
  }
  const path = file ?? ownFile('root.crt')
  if (existsSync(path)) return { ca: read('sslrootcert', path), isSystem: false }
  if (mode.startsWith('verify') || (file !== undefined && mode === 'require'))
    throw new DatabaseUnavailable(
      `DATABASE_URL: sslmode=${mode} needs sslrootcert, and there is no file ${path}; system stands for the authorities of the machine`,
    )
  return { isSystem: false }
}

function readOwn(name: string, file: string | undefined, extension: string): string | undefined {
  if (file !== undefined) return read(name, file)
  const preset = ownFile(`postgresql.${extension}`)
  return existsSync(preset) ? read(name, preset) : undefined
}

function read(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    throw new DatabaseUnavailable(`DATABASE_URL: ${name} cannot be read: ${file}`)
  }
}

/** The first choice that the server takes. A server that is away gets the first. */
export async function chooseTls(url: string): Promise<DatabaseTls> {
  const [first = false, second] = listTls(url)
  if (second === undefined) return first
  const config = { connectionString: withoutTlsParameters(url), connectionTimeoutMillis: connectTimeoutMs, ssl: first }
  const client = new pg.Client(config).on('error', () => undefined)
  try {
    await client.connect()
    return first
  } catch (error) {
    return explainTls(error) === undefined ? first : second
  } finally {
    await client.end().catch(() => undefined)
  }
}

const unknownAuthority =
  /^(UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT)$/

/** Gives the cause and the remedy; undefined for other failures. */
export function explainTls(error: unknown): string | undefined {
  for (let fault = error; fault instanceof Error; fault = fault.cause) {
    const code = 'code' in fault ? String(fault.code) : ''
    if (fault.message.includes('does not support SSL')) return 'the server offers no TLS, and sslmode asks for it'
    if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired'
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
      return 'its certificate is for another name, and sslmode is verify-full'
    if (unknownAuthority.test(code)) return 'its certificate is not signed by an authority of sslrootcert'
    if (code === '28000') return `it refuses the connection: ${fault.message}`
    if (/^(ERR_SSL|ERR_TLS|EPROTO)/.test(code)) return `TLS cannot be agreed on: ${fault.message}`
  }
  return undefined
}
