import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { isatty } from 'node:tty'
import { styleText } from 'node:util'
import { createLogFormatter } from '../embedded/pretty-log.ts'

/** Files get the output in both modes. */
export type LogViewMode = 'silent' | 'pretty'

const colors = [
  ...(['cyan', 'yellow', 'magenta', 'green', 'blue'] as const),
  ...(['cyanBright', 'yellowBright', 'magentaBright', 'greenBright', 'blueBright'] as const),
]
const recentLines = 20

export function openLogView(
  options: { name: string; mode: LogViewMode; file: string; colorIndex: number },
  terminal: Pick<NodeJS.WritableStream, 'write'> = process.stdout,
) {
  const file = createWriteStream(options.file, { flags: 'a' })
  const recent: string[] = []
  const isColored = isatty(process.stdout.fd)
  const format = createLogFormatter({ isColored })
  const name = options.name.padEnd(20)
  const prefix = isColored ? styleText(colors.at(options.colorIndex % colors.length) ?? 'white', name) : name
  const write = (line: string): void => {
    file.write(`${line}\n`)
    recent.push(line)
    if (recent.length > recentLines) recent.shift()
    if (options.mode === 'pretty') terminal.write(format(line).replace(/^(?=.)/gm, `${prefix} `))
  }
  return {
    follow: (...outputs: Readable[]): void => {
      for (const input of outputs) createInterface({ input }).on('line', write)
    },
    lastLines: (): string => recent.join('\n'),
  }
}
