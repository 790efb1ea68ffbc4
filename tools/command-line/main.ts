// `npm run command-line`: writes docs/reference/command-line.md from the help of the commands; with --check, says whether it is out of date.
import { PassThrough } from 'node:stream'
import type { Command, Option } from 'commander'
import { exitCodeMeanings, exitCodes } from '../../deploy/cli/failure.ts'
import { createProgram } from '../../deploy/cli/program.ts'
import { writePage } from '../write-page.ts'

const intro = `# Command line

<!-- written by npm run command-line -->

For operators: every command of \`gatehouse\`, with its options and exit codes. \`--help\` after a command explains each option.

    npm run --silent gatehouse -- users list            # a clone; GATEHOUSE_DATA names the instance
    docker compose run --rm operator users list         # containers; add -T if the command reads a pipe

Kubernetes: [Use the command line](../operate/kubernetes.md#use-the-command-line).

- **\`--json\`** prints JSON for scripts. Errors are \`{"error","exitCode"}\`.
- **\`--yes\`** confirms what can't be undone. Without a terminal, such commands require it.
- **Passwords** come from standard input (\`--password-stdin\`), never from arguments.
- **The last admin** can't be demoted, suspended or deleted.
- **The audit log** shows the command line's actions as done by \`operator\`.

With \`npm start\` and \`npm run cluster\`, the command line uses \`operator.sock\` in the data folder. Only the instance's own user may open it. With
\`IDENTITY_URL\`, \`INVITE_URL\`, \`FEDERATION_FANOUT_URL\`, \`OPENID_URL\` and \`OPERATOR_SECRET\`, it calls the services.
`

/** A command's arguments and options as its usage line has them. */
function usageOf(command: Command): string {
  const names = command.registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}...` : argument.name()
    return argument.required ? `<${name}>` : `[${name}]`
  })
  const options = command.options.map(({ flags, mandatory }: Option) => (mandatory ? flags : `[${flags}]`))
  return [command.name(), ...names, ...options].join(' ')
}

function linesOf(command: Command, group: string): string[] {
  if (command.commands.length > 0) return command.commands.flatMap((one) => linesOf(one, `${group}${command.name()} `))
  return [`- \`${group}${usageOf(command)}\`: ${command.description()}`]
}

const terminal = {
  input: new PassThrough(),
  output: new PassThrough(),
  errors: new PassThrough(),
  isInteractive: false,
}
const program = createProgram({ environment: {}, terminal }, false)
const commands = program.commands.flatMap((command) => linesOf(command, ''))
const codes = Object.entries(exitCodes).map(([kind, code]) => {
  return `- **${code}**: ${exitCodeMeanings[kind as keyof typeof exitCodes]}`
})

await writePage(
  'command-line',
  'docs/reference/command-line.md',
  [intro, '## Commands', '', ...commands, '', '## Exit codes', '', ...codes, ''].join('\n'),
)
