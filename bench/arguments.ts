import { parseArgs } from 'node:util'
import type { Run } from './rounds.ts'

export type Choice = { names: string[]; run: Run; isMarkdown: boolean; isWriting: boolean }

/** Reads `[name …] [--rounds <n>] [--markdown] [--write]`; no name is all of them. Throws with a sentence that a person can act on. */
export function readArguments(args: string[], benchmarkNames: readonly string[]): Choice {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      markdown: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  })
  const unknown = positionals.filter((name) => !benchmarkNames.includes(name))
  if (unknown.length > 0) {
    throw new Error(`no benchmark called ${unknown.join(', ')}; there are ${benchmarkNames.join(', ')}, and compare`)
  }
  const rounds = values.rounds === undefined ? undefined : readCount('--rounds', values.rounds, 100)
  return {
    names: positionals.length > 0 ? positionals : [...benchmarkNames],
    run: { rounds: (usual) => rounds ?? usual },
    isMarkdown: values.markdown,
    isWriting: values.write,
  }
}

/** A whole number from 1 to `max`. Throws with the name of the option. */
export function readCount(option: string, text: string, max: number): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1 || count > max) throw new Error(`${option} takes a number from 1 to ${max}`)
  return count
}
