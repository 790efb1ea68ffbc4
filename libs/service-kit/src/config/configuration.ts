import { readFileSync } from 'node:fs'
import { readCallerKey } from '@gatehouse/auth/keys'
import { z } from 'zod'

/** One line for each fault, without values. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  constructor(faults: readonly string[], options?: ErrorOptions) {
    super(faults.join('\n'), options)
  }
}

export type Environment = Readonly<Record<string, string | undefined>>

/** An empty variable counts as unset, as an empty file does. `NAME_FILE` names a file with the value. Throws ConfigurationError. Spec: Configuration. */
export function readVariables<Shape extends z.ZodRawShape>(environment: Environment, shape: Shape) {
  const faults: string[] = []
  const values = Object.fromEntries(Object.keys(shape).map((name) => [name, readOne(environment, name, faults)]))
  const parsed = z.object(shape).safeParse(values)
  const unread = new Set(faults.map((fault) => fault.split('_FILE: ')[0]))
  for (const { path, message } of parsed.error?.issues ?? []) {
    if (!unread.has(path.join('.'))) faults.push(`${path.join('.')}: ${message}`)
  }
  if (faults.length > 0 || !parsed.success) throw new ConfigurationError(faults)
  return parsed.data
}

function readOne(environment: Environment, name: string, faults: string[]): string | undefined {
  const direct = environment[name]
  if (direct !== undefined && direct !== '') return direct
  const file = environment[`${name}_FILE`]
  if (!file) return undefined
  try {
    return readFileSync(file, 'utf8').trimEnd() || undefined
  } catch {
    faults.push(`${name}_FILE: cannot read the file it names; check its path and permissions`)
    return undefined
  }
}

const required = (what: string) => (issue: { input?: unknown }) =>
  issue.input === undefined ? `is required: set it to ${what}` : `must be ${what}`

const linesOf = (text: string) => text.split(/\r?\n/).filter((line) => line !== '')
const matching = (pattern: RegExp, error: string) => z.string().regex(pattern, { error })

export const variables = {
  secret: (purpose: string) =>
    z
      .string({ error: required(`a random text of at least 32 characters (${purpose})`) })
      .min(32, { error: `must have at least 32 characters (${purpose}); make one with: openssl rand -base64 48` }),
  /** One secret a line. Contract: 8, JWT_SECRET_PREVIOUS. */
  previousSecrets: () => {
    const error = 'must be secrets of at least 32 characters each, one a line'
    const secrets = z.string().default('').transform(linesOf)
    return secrets.refine((lines) => lines.every((line) => line.length >= 32), { error })
  },
  /** One key a line. Contract: 8, CALLER_KEYS. */
  callerKeys: () => {
    const what = 'the public keys of the gateway and the operator; deploy/make-secrets.sh writes them'
    const error = 'must be lines of `gateway <key>` and `operator <key>`, as deploy/make-secrets.sh writes them'
    const keys = z.string({ error: required(what) }).transform(linesOf)
    return keys.refine((lines) => lines.length > 0 && lines.every((line) => readCallerKey(line)), { error })
  },
  url: (example: string) => {
    const what = `a URL such as ${example}`
    const isUrl = (value: string) => value.split(',').every((part) => URL.canParse(part))
    return z.string({ error: required(what) }).refine(isUrl, { error: `must be ${what}` })
  },
  databaseUrl: () => {
    const what = 'a URL such as postgres://user:password@host:5432/gatehouse'
    // Further hosts follow the first one, as in libpq.
    const isUrl = (text: string) => URL.canParse(text.replace(/,[^/?#@]*(?=[/?#]|$)/, ''))
    return z.string({ error: required(what) }).refine(isUrl, { error: `must be ${what}` })
  },
  /** What a browser or an Android app says as its origin in the response of a passkey. */
  passkeyOrigins: () => {
    const error = 'must be origins such as https://www.chat.example or android:apk-key-hash:<hash>, comma-separated'
    const isOrigin = (text: string) => {
      if (/^android:apk-key-hash:[\w-]{43}$/.test(text)) return true
      return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
    }
    const list = z.string().transform((text) => text.split(',').map((origin) => origin.trim()))
    return list.refine((origins) => origins.every(isOrigin), { error }).default([])
  },
  redisUrl: () => {
    const what = 'a URL such as redis://host:6379, redis+sentinel://host:26379/primary or redis+cluster://host:6379'
    const form = /^(rediss?:\/\/[^,]+|rediss?\+sentinel:\/\/[^/]+\/[^/]+|rediss?\+cluster:\/\/[^/]+)$/
    return z.string({ error: required(what) }).refine((text) => form.test(text), { error: `must be ${what}` })
  },
  pem: () => matching(/^-----BEGIN [A-Z ]+-----\r?\n/m, 'must be PEM, which has a line -----BEGIN').optional(),
  port: (preset: number) => {
    const error = 'must be a port number from 0 to 65535'
    const number = matching(/^[0-9]{1,5}$/, error).transform(Number)
    return number.refine((value) => value <= 65_535, { error }).default(preset)
  },
  count: (preset: number, { min = 1, max = 100_000 } = {}) => {
    const error = `must be a whole number from ${min} to ${max}`
    const number = matching(/^[0-9]{1,9}$/, error).transform(Number)
    const bounded = number.refine((value) => value >= min && value <= max, { error }).default(preset)
    return bounded.meta({ minimum: min, maximum: max })
  },
  share: (preset: number) => {
    const text = matching(/^(0|1|0?\.[0-9]{1,9}|1\.0{1,9})$/, 'must be a number from 0 to 1')
    return text.transform(Number).default(preset)
  },
  flag: (preset: boolean) => {
    const text = z.enum(['true', 'false', '1', '0'], { error: 'must be true or false' })
    return text.transform((value) => value === 'true' || value === '1').default(preset)
  },
  duration: (preset: string) =>
    matching(/^[1-9][0-9]*(s|m|h|d|w)$/, 'must be a duration such as 30d, 12h or 45m').default(preset),
  uploadStore: () =>
    matching(
      /^(file:.+|s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[A-Za-z0-9._-]+)*\/?|)$/,
      'must be file:<folder>, or s3://bucket/prefix in letters, digits, dots, hyphens and underscores',
    ).default(''),
  text: (preset: string) => z.string().default(preset),
  logLevel: () => {
    const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
    return z.enum(levels, { error: `must be one of ${levels.join(', ')}` }).default('info')
  },
}
