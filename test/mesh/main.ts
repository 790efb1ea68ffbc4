// `npm run test:mesh -- [--minutes 10] [--seed 1] [--ours 4] [--references 6] [--people 3] [--logs <folder>]`: instances of both kinds, peered
// with one another, people across them, and faults; then what was acknowledged against what is there.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { formatRun } from './report.ts'
import { runMesh } from './run-mesh.ts'

const number = (preset: string) => ({ type: 'string', default: preset }) as const
const { values } = parseArgs({
  options: {
    minutes: number('10'),
    seed: number('1'),
    ours: number('4'),
    references: number('6'),
    people: number('3'),
    logs: { type: 'string' },
  },
})
const [minutes, seed, ours, references, peopleAtEach] = [
  values.minutes,
  values.seed,
  values.ours,
  values.references,
  values.people,
].map(Number) as [number, number, number, number, number]
const log = (line: string): void => void process.stdout.write(`${line}\n`)
const size = { ours, references, peopleAtEach, actsOfEach: 6, faults: 14 }
const run = await runMesh({ seed, size, minutes, log })
log(formatRun(run))
for (const [name, state] of run.world) {
  if (values.logs !== undefined) await writeFile(join(values.logs, `${name}.log`), state.log)
}
process.exit(run.findings.length === 0 ? 0 : 1)
