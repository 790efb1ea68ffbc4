import { createInterface } from 'node:readline/promises'
import { DatabaseUnavailable } from '@gatehouse/database'
import { printable, systemClock } from '@gatehouse/runtime'
import { Command, CommanderError } from 'commander'
import { InstanceUnreachable, type CallAnswer } from '../calls/operator-calls.ts'
import { defineApplicationCommands } from './commands/applications.ts'
import { defineBackupCommands } from './commands/backup.ts'
import { defineCheckCommand } from './commands/check.ts'
import { defineImportCommand } from './commands/import.ts'
import { defineInviteCommands } from './commands/invites.ts'
import { definePeerCommands } from './commands/peers.ts'
import { defineRegistrationCommands } from './commands/registrations.ts'
import { defineReceiptCommands } from './commands/receipts.ts'
import { defineSecretCommands } from './commands/secrets.ts'
import { defineAuditCommands, defineSettingCommands } from './commands/settings.ts'
import { defineUploadCommands } from './commands/uploads.ts'
import { defineSessionCommands, defineUserCommands } from './commands/users.ts'
import { CommandFailure, exitCodeMeanings, exitCodes, ReportedFailure } from './failure.ts'
import { connectInstance } from './instance.ts'
import type { Define, Environment, Invocation, Result, Terminal } from './invocation.ts'

type Context = { environment: Environment; terminal: Terminal }

/** Gives the exit code. */
export async function runCommandLine(args: readonly string[], context: Context): Promise<number> {
  const isJson = args.includes('--json')
  const report = (exitCode: number, message: string): number => {
    const text = isJson ? JSON.stringify({ error: message, exitCode }) : message
    context.terminal.errors.write(`${printable(text)}\n`)
    return exitCode
  }
  try {
    await createProgram(context, isJson).parseAsync([...args], { from: 'user' })
    return exitCodes.done
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return exitCodes.done
      // Commander has printed it as text.
      return isJson ? report(exitCodes.usage, error.message) : exitCodes.usage
    }
    if (error instanceof CommandFailure) return report(error.exitCode, error.message)
    if (error instanceof InstanceUnreachable || error instanceof DatabaseUnavailable)
      return report(exitCodes.unreachable, error.message)
    const { stack, message } = error instanceof Error ? error : new Error(String(error))
    return report(exitCodes.failed, isJson ? message : (stack ?? message))
  }
}

/** Every command. The program runs none of them before it parses arguments. */
export function createProgram(context: Context, isJson: boolean): Command {
  const { terminal } = context
  const program = new Command('gatehouse')
    .description(
      'Manage a Gatehouse instance: the one in GATEHOUSE_DATA, or the one behind the service URLs in the environment.',
    )
    .option('--json', 'print JSON for scripts')
    .option('--yes', "don't ask for confirmation")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void terminal.output.write(text),
      writeErr: (text) => void (isJson || terminal.errors.write(text)),
    })
    .exitOverride()
    // It offers --yes for what looks like it.
    .showSuggestionAfterError(false)
    .showHelpAfterError('(run with --help to see usage)')
    .addHelpText('after', `\nExit codes:\n${listExitCodes()}`)
  const defineIn = (parent: Command): Define => {
    return (usage, description, action) => {
      const command = parent.command(usage).description(description)
      return command.action(async (...parameters: unknown[]) => {
        const args = parameters.slice(0, -2).flat() as (string | undefined)[]
        const options: Record<string, unknown> = command.optsWithGlobals()
        const print = ({ json, text }: Result) =>
          void terminal.output.write(`${options['json'] ? JSON.stringify(json, null, 2) : text}\n`)
        const invocation = createInvocation(context, options['yes'] === true)
        try {
          print(await action(invocation, command.opts(), ...args.filter((arg) => arg !== undefined)))
        } catch (error) {
          if (error instanceof ReportedFailure) print(error.result)
          throw error
        }
      })
    }
  }
  const define = defineIn(program)
  const group = (name: string, description: string) => defineIn(program.command(name).description(description))
  defineUserCommands(group)
  defineInviteCommands(group)
  defineRegistrationCommands(group)
  defineSettingCommands(group)
  definePeerCommands(group)
  defineApplicationCommands(group)
  defineSessionCommands(group)
  defineAuditCommands(group)
  defineCheckCommand(define)
  defineSecretCommands(define)
  defineBackupCommands(define, group)
  defineImportCommand(define)
  defineReceiptCommands(group)
  defineUploadCommands(group)
  return program
}

function listExitCodes(): string {
  const kinds = Object.keys(exitCodes) as (keyof typeof exitCodes)[]
  return kinds.map((kind) => `  ${exitCodes[kind]}  ${exitCodeMeanings[kind].replaceAll('`', '')}`).join('\n')
}

function createInvocation({ environment, terminal }: Context, isConfirmed: boolean): Invocation {
  let send: ReturnType<typeof connectInstance> | undefined
  return {
    environment,
    terminal,
    now: () => systemClock.now(),
    call: async (call) => bodyOf(await (send ??= connectInstance(environment))(call)),
    confirm: async (question) => {
      if (!isConfirmed) await confirm(terminal, question)
    },
    progress: (line) => void terminal.errors.write(`${line}\n`),
  }
}

/** Throws CommandFailure and InstanceUnreachable. */
function bodyOf({ status, body }: CallAnswer): CallAnswer['body'] {
  if (status < 300) return body
  const message = typeof body['error'] === 'string' ? body['error'] : `the instance answered with status ${status}`
  const spaces = body['ownedSpaces'] as { id: string; name: string }[] | undefined
  const detail = spaces ? `: ${spaces.map(({ id, name }) => `${name} (${id})`).join(', ')}` : ''
  if (status === 404) throw new CommandFailure('unknown', message)
  // The socket of an embedded instance has it where a service does not answer.
  if (status === 502) throw new InstanceUnreachable(message)
  throw new CommandFailure(status >= 500 ? 'unreachable' : 'refused', `${message}${detail}`)
}

async function confirm(terminal: Terminal, question: string): Promise<void> {
  if (!terminal.isInteractive)
    throw new CommandFailure(
      'unconfirmed',
      `${question} This cannot be undone. Run the command again with --yes to confirm`,
    )
  const prompt = createInterface({ input: terminal.input, output: terminal.errors })
  const answer = await prompt.question(`${printable(question)} This cannot be undone. Type yes: `)
  prompt.close()
  if (answer.trim().toLowerCase() !== 'yes') throw new CommandFailure('unconfirmed', 'Nothing was changed')
}
