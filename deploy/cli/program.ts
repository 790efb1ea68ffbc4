import { Command, CommanderError } from 'commander'
import { InstanceUnreachable, type Calls } from '../calls/operator-calls.ts'
import { defineBackupCommands } from './commands/backup.ts'
import { defineCheckCommand, UnhealthyInstance } from './commands/check.ts'
import { defineEncryptCommand } from './commands/encrypt.ts'
import { defineImportCommand } from './commands/import.ts'
import { defineInviteCommands } from './commands/invites.ts'
import { defineKeysCommand } from './commands/keys.ts'
import { definePeerCommands } from './commands/peers.ts'
import { defineReceiptCommands } from './commands/receipts.ts'
import { defineAuditCommands, defineSettingCommands } from './commands/settings.ts'
import { defineUploadCommands } from './commands/uploads.ts'
import { defineSessionCommands, defineUserCommands } from './commands/users.ts'
import { CommandFailure, exitCodes } from './failure.ts'
import { createInvocation, type Define, type Environment, type Result } from './invocation.ts'
import { printable, type Terminal } from './terminal.ts'

type Context = {
  environment: Environment
  terminal: Terminal
  now(): number
  connect(environment: Environment, now: () => number): Calls
}

/** Gives the exit code. */
export async function runCommandLine(args: readonly string[], context: Context): Promise<number> {
  const { terminal } = context
  const isJson = args.includes('--json')
  const program = createProgram(context, isJson)
  const report = (exitCode: number, message: string): number => {
    const text = isJson ? JSON.stringify({ error: message, exitCode }) : message
    terminal.errors.write(`${printable(text)}\n`)
    return exitCode
  }
  try {
    await program.parseAsync([...args], { from: 'user' })
    return exitCodes.done
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return exitCodes.done
      // Commander has printed it as text.
      return isJson ? report(exitCodes.usage, error.message) : exitCodes.usage
    }
    if (error instanceof CommandFailure) return report(error.exitCode, error.message)
    if (error instanceof InstanceUnreachable) return report(exitCodes.unreachable, error.message)
    const { stack, message } = error instanceof Error ? error : new Error(String(error))
    return report(exitCodes.failed, isJson ? message : (stack ?? message))
  }
}

function createProgram(context: Context, isJson: boolean): Command {
  const { terminal } = context
  const program = new Command('gatehouse')
    .description(
      'Administers the instance of this environment: GATEHOUSE_DATA, or the URLs and secrets of its services.',
    )
    .option('--json', 'print JSON, for scripts')
    .option('--yes', 'do what cannot be undone without asking')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void terminal.output.write(text),
      writeErr: (text) => void (isJson || terminal.errors.write(text)),
    })
    .exitOverride()
    // It offers --yes for what looks like it.
    .showSuggestionAfterError(false)
    .showHelpAfterError('(add --help for what is possible)')
  const define: Define = (command, action) => {
    command.action(async (...given: unknown[]) => {
      const args = given
        .slice(0, -2)
        .flat()
        .filter((arg) => arg !== undefined) as string[]
      const options = command.optsWithGlobals()
      const invocation = createInvocation({ ...context, isConfirmed: options['yes'] === true })
      const print = ({ json, text }: Result) =>
        void terminal.output.write(`${options['json'] ? JSON.stringify(json, null, 2) : text}\n`)
      try {
        print(await action(invocation, command.opts(), ...args))
      } catch (error) {
        if (error instanceof UnhealthyInstance) print(error.result)
        throw error
      }
    })
  }
  defineUserCommands(program, define)
  defineInviteCommands(program, define)
  defineSettingCommands(program, define)
  definePeerCommands(program, define)
  defineSessionCommands(program, define)
  defineAuditCommands(program, define)
  defineCheckCommand(program, define)
  defineKeysCommand(program, define)
  defineEncryptCommand(program, define)
  defineBackupCommands(program, define)
  defineImportCommand(program, define)
  defineReceiptCommands(program, define)
  defineUploadCommands(program, define)
  return program
}
