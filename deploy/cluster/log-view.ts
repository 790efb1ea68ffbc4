import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { formatLine, paint } from '../../tools/terminal/format-line.ts'

/** Where the processes' lines go: nowhere but their files, or also to this terminal, one prefix for each process. */
export type LogView = 'silent' | 'pretty'

const colours = [36, 33, 35, 32, 34, 96, 93, 95, 92, 94]

/** Shows a process's output as it comes and keeps it in a file; `recent()` gives its last lines. */
export function viewLog(options: { name: string; index: number; file: string; view: LogView }) {
  const file = createWriteStream(options.file, { flags: 'a' })
  const recent: string[] = []
  const prefix = paint(colours[options.index % colours.length]!, options.name.padEnd(20))
  const show = (line: string): void => {
    file.write(`${line}\n`)
    recent.push(line)
    if (recent.length > 20) recent.shift()
    if (options.view === 'pretty') process.stdout.write(`${prefix} ${formatLine(line)}\n`)
  }
  return {
    follow: (...streams: Readable[]) => {
      for (const input of streams) createInterface({ input }).on('line', show)
    },
    recent: () => recent.join('\n'),
    close: () => file.end(),
  }
}
