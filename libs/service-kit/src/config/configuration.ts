import { Resolver } from 'node:dns'
import { readFileSync } from 'node:fs'
import { readCallerKey } from '@gatehouse/auth/keys'
import { parseCidrs } from '@gatehouse/outbound/reach'
import { z } from 'zod'

/** One line for each fault, without values. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  readonly faults: readonly string[]
  constructor(faults: readonly string[], options?: ErrorOptions) {
    super(faults.join('\n'), options)
    this.faults = faults
  }
}

export type Environment = Readonly<Record<string, string | undefined>>

/** An empty variable counts as unset, as an empty file does. `NAME_FILE` names a file with the value. Throws ConfigurationError. Spec: Configuration. */
export function readVariables<Shape extends z.ZodRawShape>(environment: Environment, shape: Shape) {
  return configure(environment, shape, (values) => values)
}

/** What several variables say together. */
export type Part<Values> = <T>(read: (values: Values) => T) => T

/**
 * What `build` makes of the variables, of which it reads with `part` what can be wrong although each is well formed. Throws
 * ConfigurationError with the faults of variables and parts; a part that needs an invalid variable has none to tell.
 */
export function configure<Shape extends z.ZodRawShape, T>(
  environment: Environment,
  shape: Shape,
  build: (values: z.output<z.ZodObject<Shape>>, part: Part<z.output<z.ZodObject<Shape>>>) => T,
): T {
  type Values = z.output<z.ZodObject<Shape>>
  const faults: string[] = []
  const values = parseEach(environment, shape, faults) as Values
  const guarded = faults.length > 0 ? refusingInvalid(values, shape) : values
  const collect = <R>(read: () => R): R | undefined => {
    try {
      return read()
    } catch (error) {
      if (error instanceof ConfigurationError) faults.push(...error.faults)
      // Of a value that is missing only because its variable is invalid.
      else if (faults.length === 0) throw error
      return undefined
    }
  }
  const built = collect(() => build(values, (read) => collect(() => read(guarded)) as ReturnType<typeof read>))
  if (faults.length > 0) throw new ConfigurationError(faults)
  return built as T
}

function parseEach(environment: Environment, shape: z.ZodRawShape, faults: string[]): Record<string, unknown> {
  const valid: Record<string, unknown> = {}
  for (const [name, kind] of Object.entries(shape)) {
    const faultsBefore = faults.length
    const text = readOne(environment, name, faults)
    if (faults.length > faultsBefore) continue
    const { data, error } = z.safeParse(kind, text)
    if (error) faults.push(...error.issues.map(({ path, message }) => `${[name, ...path].join('.')}: ${message}`))
    else valid[name] = data
  }
  return valid
}

function refusingInvalid<Values extends object>(values: Values, shape: z.ZodRawShape): Values {
  return new Proxy(values, {
    get: (valid, name) => {
      if (name in shape && !(name in valid)) throw new ConfigurationError([])
      return valid[name as keyof Values]
    },
  })
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

/** The text itself, of which `parse` makes sense. */
const parsing = (parse: (text: string) => unknown, explain: (fault: Error) => string) =>
  z.string().superRefine((text, context) => {
    try {
      parse(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: explain(error as Error) })
    }
  })

export const variables = {
  secret: (purpose: string) =>
    z
      .string({ error: required(`a random text of at least 32 characters (${purpose})`) })
      .min(32, { error: `must have at least 32 characters (${purpose}); make one with: openssl rand -base64 48` }),
  /** One secret a line. Contract: 8, settings, JWT_SECRET_PREVIOUS. */
  previousSecrets: () => {
    const error = 'must be secrets of at least 32 characters each, one a line'
    const secrets = z.string().default('').transform(linesOf)
    return secrets.refine((lines) => lines.every((line) => line.length >= 32), { error })
  },
  /** One key a line. Contract: 8, settings, CALLER_KEYS. */
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
  /** Of proxies: addresses, networks or `loopback`. */
  trustedProxies: () => parsing(parseCidrs, ({ message }) => `${message}; separate several by commas`).default(''),
  /** `address:port`, comma-separated. */
  nameServers: () => {
    const parse = (text: string) => new Resolver().setServers(text.split(',').filter((server) => server !== ''))
    return parsing(parse, () => 'must be addresses of name servers such as 10.0.0.2:53').default('')
  },
  text: (preset: string) => z.string().default(preset),
  logLevel: () => {
    const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
    return z.enum(levels, { error: `must be one of ${levels.join(', ')}` }).default('info')
  },
}
