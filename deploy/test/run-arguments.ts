import { PassThrough, Readable } from 'node:stream'
import { runCommandLine } from '../cli/program.ts'

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
