import { Command, CommanderError } from 'commander'
import { InstanceUnreachable, type Calls } from '../calls/operator-calls.ts'
import { defineBackupCommands } from './commands/backup.ts'
import { defineCheckCommand, UnhealthyInstance } from './commands/check.ts'
import { defineImportCommand } from './commands/import.ts'
import { defineInviteCommands } from './commands/invites.ts'
import { definePeerCommands } from './commands/peers.ts'
import { defineAuditCommands, defineSettingCommands } from './commands/settings.ts'
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
  const program = createProgram(context)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return exitCodes.done
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    if (error instanceof CommandFailure || error instanceof InstanceUnreachable) {
      terminal.errors.write(`${printable(error.message)}\n`)
      return error instanceof CommandFailure ? error.exitCode : exitCodes.unreachable
    }
    terminal.errors.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    return exitCodes.failed
  }
}

function createProgram(context: Context): Command {
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
      writeErr: (text) => void terminal.errors.write(text),
    })
    .exitOverride()
    .showHelpAfterError('(add --help for what is possible)')
  const define: Define = (command, action) => {
    command.action(async (...given: unknown[]) => {
      const args = given.slice(0, -2).filter((arg) => arg !== undefined) as string[]
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
  defineBackupCommands(program, define)
  defineImportCommand(program, define)
  return program
}
