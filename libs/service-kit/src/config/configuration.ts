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

type Environment = Readonly<Record<string, string | undefined>>

/**
 * An empty variable counts as unset. `NAME_FILE` names a file with the value. Throws ConfigurationError. Spec:
 * Configuration.
 */
export function readVariables<Shape extends z.ZodRawShape>(
  environment: Environment,
  shape: Shape,
): z.infer<z.ZodObject<Shape>> {
  const faults: string[] = []
  const values = Object.fromEntries(Object.keys(shape).map((name) => [name, readOne(environment, name, faults)]))
  const parsed = z.object(shape).safeParse(values)
  if (!parsed.success) {
    const unread = new Set(faults.map((fault) => fault.split('_FILE: ')[0]))
    const issues = parsed.error.issues.map(({ path, message }) => ({ name: path.join('.'), message }))
    for (const { name, message } of issues) if (!unread.has(name)) faults.push(`${name}: ${message}`)
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
    return readFileSync(file, 'utf8').trimEnd()
  } catch {
    faults.push(`${name}_FILE: cannot read the file it names; check its path and permissions`)
    return undefined
  }
}

const required = (what: string) => (issue: { input?: unknown }) =>
  issue.input === undefined ? `is required: set it to ${what}` : `must be ${what}`

export const variables = {
  secret: (purpose: string) =>
    z
      .string({ error: required(`a random text of at least 32 characters (${purpose})`) })
      .min(32, { error: `must have at least 32 characters (${purpose}); make one with: openssl rand -base64 48` }),
  /** One secret a line. Contract: 8, JWT_SECRET_PREVIOUS. */
  previousSecrets: () =>
    z
      .string()
      .default('')
      .transform((text) => text.split(/\r?\n/).filter((line) => line !== ''))
      .refine((lines) => lines.every((line) => line.length >= 32), {
        error: 'must be secrets of at least 32 characters each, one a line',
      }),
  /** One key a line. Contract: 8, CALLER_KEYS. */
  callerKeys: () =>
    z
      .string({
        error: required('the public keys of the gateway and the operator; deploy/make-secrets.sh writes them'),
      })
      .transform((text) => text.split(/\r?\n/).filter((line) => line !== ''))
      .refine((lines) => lines.length > 0 && lines.every((line) => readCallerKey(line)), {
        error: 'must be lines of `gateway <key>` and `operator <key>`, as deploy/make-secrets.sh writes them',
      }),
  url: (example: string) =>
    z
      .string({ error: required(`a URL such as ${example}`) })
      .refine((value) => value.split(',').every((part) => URL.canParse(part)), {
        error: `must be a URL such as ${example}`,
      }),
  redisUrl: () => {
    const error = 'a URL such as redis://host:6379, rediss://host:6379 or redis+sentinel://host:26379/primary'
    return z
      .string({ error: required(error) })
      .refine((text) => /^(rediss?:\/\/[^,]+|rediss?\+sentinel:\/\/[^/]+\/[^/]+)$/.test(text), {
        error: `must be ${error}`,
      })
  },
  pem: () =>
    z
      .string()
      .regex(/^-----BEGIN [A-Z ]+-----\n/, { error: 'must be PEM, which begins with -----BEGIN' })
      .optional(),
  port: (preset: number) =>
    z
      .string()
      .regex(/^[0-9]{1,5}$/, { error: 'must be a port number from 0 to 65535' })
      .transform(Number)
      .refine((value) => value <= 65_535, { error: 'must be a port number from 0 to 65535' })
      .default(preset),
  count: (preset: number, { min = 1, max = 100_000 } = {}) =>
    z
      .string()
      .regex(/^[0-9]{1,9}$/, { error: `must be a whole number from ${min} to ${max}` })
      .transform(Number)
      .refine((value) => value >= min && value <= max, { error: `must be a whole number from ${min} to ${max}` })
      .default(preset),
  /** From 0 to 1. */
  share: (preset: number) =>
    z
      .string()
      .regex(/^(0|1|0?\.[0-9]{1,9}|1\.0{1,9})$/, { error: 'must be a number from 0 to 1' })
      .transform(Number)
      .default(preset),
  flag: (preset: boolean) =>
    z
      .enum(['true', 'false', '1', '0'], { error: 'must be true or false' })
      .transform((value) => value === 'true' || value === '1')
      .default(preset),
  duration: (preset: string) =>
    z
      .string()
      .regex(/^[1-9][0-9]*(s|m|h|d|w)$/, { error: 'must be a duration such as 30d, 12h or 45m' })
      .default(preset),
  uploadStore: () =>
    z
      .string()
      .regex(/^(file:.+|s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[A-Za-z0-9._-]+)*\/?|)$/, {
        error: 'must be file:<folder>, or s3://bucket/prefix in letters, digits, dots, hyphens and underscores',
      })
      .default(''),
  text: (preset: string) => z.string().default(preset),
  logLevel: () =>
    z
      .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
        error: 'must be one of fatal, error, warn, info, debug, trace, silent',
      })
      .default('info'),
}
