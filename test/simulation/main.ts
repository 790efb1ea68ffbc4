// `npm run test:simulation -- [--minutes 1] [--seed 1] [--replay <schedule>] [--regions]`: every order of what can happen to the cache
// of account states, up to a bound, then random orders, then the planted faults.
import { parseArgs } from 'node:util'
import { replay } from './explore.ts'
import { mutants } from './mutants.ts'
import { describeRegions } from './regions.ts'
import { formatFailure, runAll } from './report.ts'
import { scenarios } from './scenarios.ts'

const log = (line: string): void => void process.stdout.write(`${line}\n`)
const number = (preset: string) => ({ type: 'string', default: preset }) as const
const { values } = parseArgs({
  options: { minutes: number('1'), seed: number('1'), replay: { type: 'string' }, regions: { type: 'boolean' } },
})

async function replayOne(text: string): Promise<boolean> {
  const [name = '', planted = '-', choices = ''] = text.replaceAll('_', ' ').split('/')
  const scenario = scenarios.find((one) => one.name === name)
  if (!scenario) throw new Error(`unknown scenario "${name}"`)
  const { failure, steps } = await replay({ scenario, mutant: mutants[planted] }, choices.split('.').map(Number))
  log(failure ? formatFailure(name, planted, failure) : `no violation\n${steps.join('\n')}`)
  return !failure
}

async function run(): Promise<boolean> {
  if (values.replay !== undefined) return await replayOne(values.replay)
  if (values.regions) return (log(await describeRegions()), true)
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)]
  return await runAll({ now: () => Date.now(), log, minutes, seed })
}

process.exitCode = (await run()) ? 0 : 1
