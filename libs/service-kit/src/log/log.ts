import { writeSync } from 'node:fs'
import type { Clock, Timer } from '@gatehouse/runtime'
import pino from 'pino'
import { logBatchBytes, logBatchMs, logExitMs, logRepeatMs, logRetryMs, logWaitingBytes } from '../policy.ts'
import { requestLinesPerSecond, sampledRequests } from '../policy.ts'

export type Log = pino.Logger

/** Values of these fields are never logged. */
const secretNames =
  'password currentPassword newPassword temporaryPassword passwordHash token inviteToken secret hmacSecret authorization'

type LogOptions = { level: string; service: string; destination?: pino.DestinationStream }

export function createLog({ level, service, destination }: LogOptions): Log {
  const paths = secretNames.split(' ').flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  const settings: pino.LoggerOptions = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths, censor: '[redacted]' },
    // `error` is redacted in case it is used in place of `err`.
    serializers: { err: describeError, error: describeError },
  }
  const onCaughtUp = (dropped: number): void =>
    log.warn({ dropped }, 'lines of the log were dropped: what reads standard output was late')
  const log: Log = pino(settings, destination ?? openStandardOutput(onCaughtUp))
  return log
}

/** Pino's number. Lines from this level on are written at once. */
const warnLevel = 40

let standardOutput: ReturnType<typeof createOutput> | undefined

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

function openOutput(onCaughtUp: (dropped: number) => void) {
  // Opening the streams makes pipes and sockets non-blocking.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  const output = createOutput(1, onCaughtUp)
  process.once('exit', () => output.flushAtExit())
  return output
}

/** PostgreSQL quotes rows and statements in these, Redis the command, which may be the login. */
const quoting = new Set('detail where internalQuery query sql params parameters command previousErrors'.split(' '))

/** Rows that the database quotes may hold a hash or a token. The ORM copies them into the message. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const quotes = quotedRows(error)
  const fields = Object.entries<unknown>(pino.stdSerializers.err(error)).filter(([name]) => !quoting.has(name))
  const without = (text: string) => quotes.reduce((rest, quote) => rest.replaceAll(quote, '[row redacted]'), text)
  const cleaned = fields.map(([name, value]) => [name, typeof value === 'string' ? without(value) : value])
  const aggregateErrors = error instanceof AggregateError && (error.errors as unknown[]).map(describeError)
  return { ...Object.fromEntries(cleaned), ...(aggregateErrors && { aggregateErrors }) }
}

function quotedRows(error: Error): string[] {
  const quotes: string[] = []
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('detail' in cause && typeof cause.detail === 'string' && cause.detail !== '') quotes.push(cause.detail)
  }
  return quotes
}

/** Other errors may pass, such as a full disk. */
const gone: ReadonlySet<unknown> = new Set(['EPIPE', 'EBADF', 'EIO'])
const isGone = (error: unknown): boolean => error instanceof Error && 'code' in error && gone.has(error.code)

/** Batches save system calls. At most `logWaitingBytes` wait for a slow reader; `onCaughtUp` tells what was dropped. */
export function createOutput(fd: number, onCaughtUp: (dropped: number) => void) {
  let lines: string[] = []
  let size = 0
  let rest = Buffer.alloc(0)
  let retry: NodeJS.Timeout | undefined
  let isClosed = false
  let dropped = 0
  let reportedCount = 0

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
    if (size > 0 || isClosed || dropped === reportedCount) return
    const count = dropped - reportedCount
    reportedCount = dropped
    onCaughtUp(count)
  }

  setInterval(() => retry ?? flush(), logBatchMs).unref()
  return {
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

/** Whether this request's line is written: beyond `requestLinesPerSecond` one in `sampledRequests` is. */
export function createRequestSampler(clock: Clock): () => boolean {
  let second = 0
  let count = 0
  return () => {
    const now = Math.floor(clock.now() / 1000)
    count = now === second ? count + 1 : 1
    second = now
    return count <= requestLinesPerSecond || count % sampledRequests === 0
  }
}

/** Writes each kind once a minute, with the number of the others. */
export class OccasionalLog {
  readonly #deps: { log: Pick<Log, 'warn'>; timer: Pick<Timer, 'now'> }
  readonly #kinds = new Map<string, { nextAt: number; suppressed: number }>()

  constructor(deps: { log: Pick<Log, 'warn'>; timer: Pick<Timer, 'now'> }) {
    this.#deps = deps
  }

  /** Every value of `kind` is kept. */
  warn(kind: string, fields: object, message: string): void {
    const { log, timer } = this.#deps
    const now = timer.now()
    const { nextAt, suppressed } = this.#kinds.get(kind) ?? { nextAt: 0, suppressed: 0 }
    if (now < nextAt) return void this.#kinds.set(kind, { nextAt, suppressed: suppressed + 1 })
    log.warn({ ...fields, ...(suppressed > 0 && { suppressed }) }, message)
    this.#kinds.set(kind, { nextAt: now + logRepeatMs, suppressed: 0 })
  }
}
