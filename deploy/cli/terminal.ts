import { createInterface } from 'node:readline/promises'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { CommandFailure } from './failure.ts'

export type Terminal = {
  input: Readable
  output: Writable
  errors: Writable
  isInteractive: boolean
}

/** Control sequences, and marks that turn the direction of text. */
const unprintable = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
export const printable = (value: string): string => value.replace(unprintable, '\u{fffd}')

/** Null reads `-`. */
export function table(header: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = [header, ...rows].map((row) => row.map((cell) => (cell == null ? '-' : singleLine(cell))))
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export function record(entries: Record<string, unknown>): string {
  const width = Math.max(...Object.keys(entries).map((name) => name.length))
  const lines = Object.entries(entries).map(
    ([name, value]) => `${name.padEnd(width)}  ${value == null ? '-' : singleLine(value)}`,
  )
  return lines.join('\n')
}

const singleLine = (value: unknown): string => printable(String(value)).replace(/[\t\n]/g, ' ')

export const formatTime = (ms: unknown): string | null =>
  typeof ms === 'number' ? new Date(ms).toISOString().replace('T', ' ').slice(0, 19) : null

/** Throws CommandFailure without a yes. */
export async function confirm(terminal: Terminal, question: string, isConfirmed: boolean): Promise<void> {
  if (isConfirmed) return
  if (!terminal.isInteractive) {
    throw new CommandFailure('unconfirmed', `${question} This cannot be undone: repeat the command with --yes`)
  }
  const asked = createInterface({ input: terminal.input, output: terminal.errors })
  const answer = await asked.question(`${printable(question)} This cannot be undone. Type yes: `)
  asked.close()
  if (answer.trim().toLowerCase() !== 'yes') throw new CommandFailure('unconfirmed', 'Nothing was changed')
}

/** Other processes can read arguments. */
export async function readSecretLine({ input }: Terminal): Promise<string> {
  const [line = ''] = (await text(input)).split(/\r?\n/)
  if (!line) throw new CommandFailure('usage', 'standard input is empty: pipe the value into the command')
  return line
}
