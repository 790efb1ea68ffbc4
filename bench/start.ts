import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { listTree } from '@gatehouse/local-servers'
import { createDataFolder, spawnNode, startEmbeddedInstance } from './embedded-instance.ts'
import { absoluteLine, type Line } from './report.ts'
import { measureInRounds, median, timeOf, type Run } from './rounds.ts'

const startLimitS = 1
const stopLimitS = 3
const footprintLimitMb = 250

type Sample = { startS: number; stopS: number; rssMb: number; pssMb: number }

/** `npm start` on a data folder that is there: time to the first 200, what all its processes take, time to stop. */
export async function benchmark(run: Run): Promise<Line[]> {
  await using folder = await createDataFolder()
  // The first start, which is not counted, makes the data folder.
  const { bareS, ours } = await measureInRounds<'bareS' | 'ours', number | Sample>(run.rounds(7), {
    bareS: async () => (await timeOf(() => once(spawnNode(['--eval', '0'], {}), 'exit'))) / 1000,
    ours: () => measureStart(folder.path),
  })
  return linesOf(ours as Sample[], median(bareS as number[]))
}

async function measureStart(folder: string): Promise<Sample> {
  const instance = await startEmbeddedInstance(folder)
  const footprint = await footprintOf(instance.pid)
  const stopMs = await timeOf(async () => instance[Symbol.asyncDispose]())
  return { startS: instance.startMs / 1000, ...footprint, stopS: stopMs / 1000 }
}

/** Of the process and everything below it. Pages that several share count once in PSS, and for each of them in RSS. */
async function footprintOf(pid: number): Promise<{ rssMb: number; pssMb: number }> {
  const sums = await Promise.all(
    listTree(pid).map(async (member) => {
      const rollup = await readFile(`/proc/${member}/smaps_rollup`, 'utf8').catch(() => '')
      const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(rollup)?.[1] ?? 0)
      return { rss: kilobytes('Rss'), pss: kilobytes('Pss') }
    }),
  )
  const total = (name: 'rss' | 'pss'): number => sums.reduce((sum, one) => sum + one[name], 0) / 1024
  return { rssMb: total('rss'), pssMb: total('pss') }
}

function linesOf(samples: readonly Sample[], bareS: number): Line[] {
  const valuesOf = (name: keyof Sample): number[] => samples.map((sample) => sample[name])
  const inSeconds = (value: number): string => `${value.toFixed(2)} s`
  const inMegabytes = (value: number): string => `${value.toFixed(0)} MB`
  const seconds = { peer: `node --eval 0 takes ${inSeconds(bareS)}`, format: inSeconds }
  const rss = `RSS summed ${inMegabytes(median(valuesOf('rssMb')))}`
  return [
    absoluteLine({
      what: 'npm start to the first 200, second start',
      values: valuesOf('startS'),
      bound: { atMost: startLimitS },
      ...seconds,
    }),
    absoluteLine({ what: 'Ctrl-C to the end', values: valuesOf('stopS'), bound: { atMost: stopLimitS }, ...seconds }),
    absoluteLine({
      what: 'footprint of all its processes (PSS)',
      values: valuesOf('pssMb'),
      peer: rss,
      format: inMegabytes,
      bound: { atMost: footprintLimitMb },
    }),
  ]
}
