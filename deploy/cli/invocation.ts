import type { Command } from 'commander'
import type { Calls, OperatorCall } from '../calls/operator-calls.ts'
import { CommandFailure } from './failure.ts'
import { confirm, type Terminal } from './terminal.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** What a command gives: for scripts, and for people. */
export type Result = { json: unknown; text: string }

/** What every command works with. */
export type Invocation = {
  environment: Environment
  terminal: Terminal
  now(): number
  /** Calls an endpoint of the instance and gives the body. Throws CommandFailure and InstanceUnreachable. */
  call(call: OperatorCall): Promise<Record<string, unknown>>
  /** Asks first. Throws CommandFailure. */
  confirm(question: string): Promise<void>
  /** A line about how far a long command is; on standard error. */
  progress(line: string): void
}

/** What a command does with its options and arguments. */
type Action<Given extends object> = (invocation: Invocation, options: Given, ...args: string[]) => Promise<Result>

/** Gives a command its action, and prints what comes of it. */
export type Define = <Given extends object>(command: Command, action: Action<Given>) => void

type Options = {
  environment: Environment
  terminal: Terminal
  now(): number
  /** Where the instance is, found at the first call. Throws CommandFailure. */
  connect(environment: Environment, now: () => number): Calls
  isConfirmed: boolean
}

export function createInvocation({ environment, terminal, now, connect, isConfirmed }: Options): Invocation {
  let calls: Calls | undefined
  return {
    environment,
    terminal,
    now,
    call: async (call) => await answerOf((calls ??= connect(environment, now)), call),
    confirm: (question) => confirm(terminal, question, isConfirmed),
    progress: (line) => void terminal.errors.write(`${line}\n`),
  }
}

async function answerOf(calls: Calls, call: OperatorCall): Promise<Record<string, unknown>> {
  const { status, body } = await calls.send(call)
  if (status < 300) return body
  const message = typeof body['error'] === 'string' ? body['error'] : `the instance answered with status ${status}`
  const spaces = body['ownedSpaces'] as { id: string; name: string }[] | undefined
  const detail = spaces ? `: ${spaces.map(({ id, name }) => `${name} (${id})`).join(', ')}` : ''
  if (status === 404) throw new CommandFailure('unknown', message)
  throw new CommandFailure(status >= 500 ? 'unreachable' : 'refused', `${message}${detail}`)
}
