import { explainServerFault, serverFaultOf } from '@gatehouse/database'
import { isDiskFull } from '@gatehouse/runtime'
import { UploadStoreRefused, UploadStoreUnavailable } from '@gatehouse/uploads'
import { InstanceUnreachable } from '../calls/operator-calls.ts'

export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  unknown: 4,
  unreachable: 5,
  unconfirmed: 6,
  unhealthy: 7,
} as const

/** For `--help` and docs/reference/command-line.md. */
export const exitCodeMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'done',
  failed: 'unknown error, full disk, or forged receipt',
  usage: 'wrong arguments or environment',
  refused: 'rejected: the message says why, and nothing has changed',
  unknown: 'the named user, invite, peer or instance does not exist',
  unreachable: 'the instance or a server that it needs is not available',
  unconfirmed: 'the question was not answered with yes',
  unhealthy: '`check` found a problem',
}

/** What a command gives: for scripts, and for people. */
export type Result = { json: unknown; text: string }

export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly kind: keyof typeof exitCodes
  readonly exitCode: number
  constructor(kind: keyof typeof exitCodes, message: string, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
    this.exitCode = exitCodes[kind]
  }
}

/** Has the exit code of its cause. What was done or found is printed too. */
export class ReportedFailure extends CommandFailure {
  readonly result: Result
  constructor(cause: CommandFailure['kind'] | Error, message: string, result: Result) {
    super(typeof cause === 'string' ? cause : kindOf(cause), message, cause)
    this.result = result
  }
}

function kindOf(error: Error): CommandFailure['kind'] {
  if (error instanceof CommandFailure) return error.kind
  return error instanceof InstanceUnreachable ? 'unreachable' : 'failed'
}

/** For a `catch`. */
export function cannotRead(what: string) {
  return (cause: unknown): never => {
    throw new CommandFailure('usage', `cannot read ${what}: ${(cause as Error).message}`, cause)
  }
}

/** Codes of the system, or the words of pg. */
const connectionLoss = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT)$|Connection terminated|not queryable$/
export const isServerLost = (error: unknown): boolean =>
  serverFaultOf(error) === 'lost' || connectionLoss.test((error as { code?: string }).code ?? String(error))

/** Of a store of uploads that refuses or is away, a PostgreSQL that cannot and a full disk; null for what only the caller can explain. */
export function storageFailure(error: unknown, outcome: string): CommandFailure | null {
  if (error instanceof CommandFailure) return error
  if (error instanceof UploadStoreUnavailable) {
    const kind = error instanceof UploadStoreRefused ? 'usage' : 'unreachable'
    return new CommandFailure(kind, `UPLOAD_STORE: ${error.message}; ${outcome}`, error)
  }
  if (isServerLost(error))
    return new CommandFailure('unreachable', `lost the connection to PostgreSQL: ${outcome}`, error)
  if (isDiskFull(error)) return new CommandFailure('failed', `the disk is full: ${outcome}`, error)
  const fault = serverFaultOf(error)
  if (fault !== 'readOnly' && fault !== 'exhausted') return null
  return new CommandFailure('unreachable', `${explainServerFault(fault)}: ${outcome}`, error)
}
