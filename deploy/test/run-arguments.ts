import { PassThrough, Readable } from 'node:stream'
import { runCommandLine } from '../cli/program.ts'
import { programOf, readCommand } from './program.ts'

/** The command line in this process, without a terminal: what it wrote, and its exit code. */
export async function runArguments(args: string[], environment: Record<string, string>, input = '') {
  const written = { output: '', errors: '' }
  const collect = (name: keyof typeof written) => {
    const stream = new PassThrough()
    stream.on('data', (chunk) => (written[name] += String(chunk)))
    return stream
  }
  const terminal = {
    input: Readable.from([input]),
    output: collect('output'),
    errors: collect('errors'),
    isInteractive: false,
  }
  const code = await runCommandLine(args, { environment, terminal })
  return { code, ...written }
}

const commandLine = programOf('gatehouse')

/** A command of `documentedCommand` for the command line, in this process. What it sets counts over `environment`. */
export async function runCommand(command: string, environment: Record<string, string> = {}) {
  const { variables, file, args } = readCommand(command)
  if (file !== commandLine) throw new Error(`another program than the command line: ${command}`)
  return await runArguments(args, { ...environment, ...variables })
}

const temporary = process.env.TMPDIR

/** The folder for temporary files of commands in this process; `undefined` is that of before. */
export function useTemporary(folder = temporary): void {
  if (folder === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = folder
}
