/** What the exit code of a command means. docs/operators.md, "Command line". */
export const exitCodes = {
  done: 0,
  /** A fault that this program does not know. */
  failed: 1,
  /** Wrong arguments, or an environment that is not what the command needs. */
  usage: 2,
  /** The instance refused: the message says why, nothing has changed. */
  refused: 3,
  /** What the command names does not exist. */
  unknown: 4,
  /** The instance, or a server that it needs, does not answer. */
  unreachable: 5,
  /** A question was not answered with yes. */
  unconfirmed: 6,
  /** `check` found something wrong. */
  unhealthy: 7,
} as const
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Whether there is no room: on the disk, within its quota or a limit for files, here or at PostgreSQL. */
export function isDiskFull(error: unknown): boolean {
  const { code, message } = error as { code?: string; message: string }
  // An error of another process comes as its message.
  return ['ENOSPC', 'EDQUOT', 'EFBIG', '53100'].includes(code ?? /^[A-Z]+(?=: )/.exec(message)?.[0] ?? '')
}

/** Ends a command with one clear line and an exit code that means something. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly exitCode: ExitCode
  constructor(kind: keyof typeof exitCodes, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCodes[kind]
  }
}
