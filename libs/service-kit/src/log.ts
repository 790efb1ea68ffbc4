import pino from 'pino'

export type Log = pino.Logger

/** Names under which a secret might travel; their values never reach a log. */
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

/** Structured lines on standard output, each with the name of the process part that wrote it. */
export function createLog(options: { level: string; service: string; destination?: pino.DestinationStream }): Log {
  const settings: pino.LoggerOptions = {
    level: options.level,
    base: { service: options.service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
    serializers: { error: describeError },
  }
  return options.destination ? pino(settings, options.destination) : pino(settings)
}

/** Fields in which PostgreSQL quotes rows and statements. */
const quotingFields = new Set(['detail', 'where', 'internalQuery', 'query', 'sql', 'params', 'parameters'])

/**
 * An error as it is logged. The database quotes the row that broke a rule, with the hash or the token in it; the ORM puts
 * that into the message: none of it is written.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const quotes = quotesIn(error)
  const told = Object.entries(pino.stdSerializers.err(error)).filter(([name]) => !quotingFields.has(name))
  const cleaned = told.map(([name, value]) => [name, typeof value === 'string' ? without(quotes, value) : value])
  const parts = error instanceof AggregateError ? { aggregateErrors: error.errors.map(describeError) } : {}
  return { ...Object.fromEntries(cleaned), ...parts }
}

function quotesIn(error: Error): string[] {
  const quotes: string[] = []
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('detail' in cause && typeof cause.detail === 'string' && cause.detail !== '') quotes.push(cause.detail)
  }
  return quotes
}

function without(quotes: readonly string[], text: string): string {
  return quotes.reduce((rest, quote) => rest.replaceAll(quote, '[row left out]'), text)
}
