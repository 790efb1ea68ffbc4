import type { Writable } from 'node:stream'
import { formatLine } from './format-line.ts'

/** Where a log's structured lines go so that a person reads them. */
export function readableLines(output: Writable): { write(line: string): void } {
  return { write: (line) => void output.write(`${formatLine(line.trimEnd())}\n`) }
}
