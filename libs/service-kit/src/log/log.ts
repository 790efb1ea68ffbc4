import { writeSync } from 'node:fs'
import pino from 'pino'
import { logBatchBytes, logBatchMs, logExitMs, logRetryMs, logWaitingBytes } from '../policy.ts'

export type Log = pino.Logger

/** Values of these fields are never logged. */
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

export function createLog(options: { level: string; service: string; destination?: pino.DestinationStream }): Log {
  const settings: pino.LoggerOptions = {
    level: options.level,
    base: { service: options.service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
    // `error` is redacted in case it is used in place of `err`.
    serializers: { err: describeError, error: describeError },
  }
  const onCaughtUp = (dropped: number): void =>
    log.warn({ dropped }, 'lines of the log were dropped: what reads standard output was late')
  const log: Log = pino(settings, options.destination ?? openStandardOutput(onCaughtUp))
  return log
}

/** Pino's number. Lines from this level on are written at once. */
const warnLevel = 40

let standardOutput: Output | undefined

export const droppedLogLines = (): number => standardOutput?.dropped() ?? 0

function openStandardOutput(onCaughtUp: (dropped: number) => void): pino.DestinationStream {
  const output = (standardOutput ??= openOutput(onCaughtUp))
  return {
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      output.write(line, this.lastLevel >= warnLevel)
    },
  } as pino.DestinationStream & { lastLevel: number }
}

function openOutput(onCaughtUp: (dropped: number) => void): Output {
  // Opening the streams makes pipes and sockets non-blocking.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  const output = createOutput(1, onCaughtUp)
  process.once('exit', () => output.flushAtExit())
  return output
}

/** PostgreSQL quotes rows and statements in these. */
const quotingFields = new Set(['detail', 'where', 'internalQuery', 'query', 'sql', 'params', 'parameters'])

/** Rows that the database quotes may hold a hash or a token. The ORM copies them into the message. */
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

type Output = ReturnType<typeof createOutput>

/** Other errors may pass, such as a full disk. */
const gone: ReadonlySet<unknown> = new Set(['EPIPE', 'EBADF', 'EIO'])
const isGone = (error: unknown): boolean => error instanceof Error && 'code' in error && gone.has(error.code)

/**
 * Batches save system calls. This thread writes, because a crash would lose the lines of another. At most `logWaitingBytes`
 * wait for a slow reader. Later lines are dropped, and `onCaughtUp` gets their number.
 */
export function createOutput(fd: number, onCaughtUp: (dropped: number) => void) {
  let lines: string[] = []
  let size = 0
  let rest = Buffer.alloc(0)
  let retry: NodeJS.Timeout | undefined
  let isClosed = false
  let dropped = 0
  let told = 0

  function flush(): void {
    retry = undefined
    rest = lines.length > 0 ? Buffer.concat([rest, Buffer.from(lines.join(''))]) : rest
    lines = []
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest))
    } catch (error) {
      if (isGone(error)) isClosed = true
      else retry = setTimeout(flush, logRetryMs).unref()
    }
    size = rest.length
    if (size > 0 || isClosed || dropped === told) return
    const count = dropped - told
    told = dropped
    onCaughtUp(count)
  }

  setInterval(() => retry ?? flush(), logBatchMs).unref()
  return {
    /** Urgent lines are written at once. */
    write: (line: string, isUrgent: boolean): void => {
      if (isClosed || size + line.length > logWaitingBytes) return void (dropped += 1)
      lines.push(line)
      size += line.length
      if (!retry && (isUrgent || size >= logBatchBytes)) flush()
    },
    /** Waits a bounded time. Only for exit. */
    flushAtExit: (): void => {
      const until = performance.now() + logExitMs
      const clock = new Int32Array(new SharedArrayBuffer(4))
      for (flush(); rest.length > 0 && !isClosed && performance.now() < until; flush())
        Atomics.wait(clock, 0, 0, logRetryMs)
    },
    dropped: (): number => dropped,
  }
}
