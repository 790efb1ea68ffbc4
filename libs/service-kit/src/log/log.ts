import pino from 'pino'
import { logBatchBytes, logBatchMs } from '../policy.ts'

export type Log = pino.Logger

/** Field names that may hold a secret; their values are never logged. */
const secretNames = [
  'password',
  'currentPassword',
  'newPassword',
  'temporaryPassword',
  'passwordHash',
  'token',
  'inviteToken',
  'secret',
  'hmacSecret',
  'authorization',
]

/** Structured lines on standard output, each with the name of the service. Errors are logged as `err`. */
export function createLog(options: { level: string; service: string; destination?: pino.DestinationStream }): Log {
  const settings: pino.LoggerOptions = {
    level: options.level,
    base: { service: options.service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
    // `err` is the key of this project and of pino; `error` is redacted all the same.
    serializers: { err: describeError, error: describeError },
  }
  return pino(settings, options.destination ?? openStandardOutput())
}

/** Pino's number of the level. */
const warnLevel = 40

/**
 * Standard output in batches, because one system call for each line costs more than the line. From `warn` on a line is
 * written at once, with those before it, and so is what is left when the process exits. Written by this thread and not by
 * another one, whose lines would be lost in a crash.
 */
function openStandardOutput(): pino.DestinationStream {
  const output = pino.destination({ fd: 1, sync: true, minLength: logBatchBytes, periodicFlush: logBatchMs })
  process.once('exit', () => output.flushSync())
  return {
    // Asks pino for `lastLevel`.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      output.write(line)
      if (this.lastLevel >= warnLevel) output.flushSync()
    },
  } as pino.DestinationStream & { lastLevel: number }
}

/** Fields in which PostgreSQL quotes rows and statements. */
const quotingFields = new Set(['detail', 'where', 'internalQuery', 'query', 'sql', 'params', 'parameters'])

/**
 * An error as it is logged. The database quotes the row that violates a constraint, with the hash or the token in it; the
 * ORM puts that into the message: none of it is logged.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const quotes = quotedRows(error)
  const fields = Object.entries<unknown>(pino.stdSerializers.err(error)).filter(([name]) => !quotingFields.has(name))
  const cleaned = fields.map(([name, value]) => [name, typeof value === 'string' ? without(quotes, value) : value])
  const parts =
    error instanceof AggregateError ? { aggregateErrors: (error.errors as unknown[]).map(describeError) } : {}
  return { ...Object.fromEntries(cleaned), ...parts }
}

function quotedRows(error: Error): string[] {
  const quotes: string[] = []
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('detail' in cause && typeof cause.detail === 'string' && cause.detail !== '') quotes.push(cause.detail)
  }
  return quotes
}

function without(quotes: readonly string[], text: string): string {
  return quotes.reduce((rest, quote) => rest.replaceAll(quote, '[row redacted]'), text)
}
