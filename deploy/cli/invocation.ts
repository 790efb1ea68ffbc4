import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { printable } from '@gatehouse/runtime'
import type { Command } from 'commander'
import type { OperatorCall } from '../calls/operator-calls.ts'
import { CommandFailure, type Result } from './failure.ts'

export type Environment = Readonly<Record<string, string | undefined>>
export type Terminal = { input: Readable; output: Writable; errors: Writable; isInteractive: boolean }

export type { Result } from './failure.ts'

/** What every command works with. */
export type Invocation = {
  environment: Environment
  terminal: Terminal
  now(): number
  /** Calls an endpoint of the instance and gives the body. Throws CommandFailure and InstanceUnreachable. */
  call(call: OperatorCall): Promise<Record<string, unknown>>
  /** Asks first. Throws CommandFailure. */
  confirm(question: string): Promise<void>
  /** A line about how far a long command is; on standard error. */
  progress(line: string): void
}

type Action<Options extends object> = (invocation: Invocation, options: Options, ...args: string[]) => Promise<Result>

/** Makes a command of its usage, its description and its action, whose result is printed. */
export type Define = <Options extends object>(usage: string, description: string, action: Action<Options>) => Command

/** Gives what makes the commands of a group. */
export type DefineGroup = (name: string, description: string) => Define

/** Null reads `-`. */
const cellOf = (value: unknown): string => printable(`${(value ?? '-') as string | number}`).replace(/[\t\n]/g, ' ')

export function table(header: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = [header, ...rows].map((row) => row.map(cellOf))
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const lines = cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
  return lines.map((line) => line.trimEnd()).join('\n')
}

export function record(entries: Record<string, unknown>): string {
  const width = Math.max(...Object.keys(entries).map((name) => name.length))
  return Object.entries(entries)
    .map(([name, value]) => `${name.padEnd(width)}  ${cellOf(value)}`)
    .join('\n')
}

export const formatTime = (ms: unknown): string | null =>
  typeof ms === 'number' ? new Date(ms).toISOString().replace('T', ' ').slice(0, 19) : null

/** Other processes can read arguments. */
export async function readSecretLine({ input }: Terminal): Promise<string> {
  const [line = ''] = (await text(input)).split(/\r?\n/)
  if (!line) throw new CommandFailure('usage', 'standard input is empty: pipe the value into this command')
  return line
}
