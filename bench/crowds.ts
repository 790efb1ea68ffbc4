import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { startCluster, type Cluster } from '../deploy/cluster/cluster.ts'
import { cpuOfOne, formatCpu, readCpu } from './cluster-cpu.ts'
import type { Connection, CrowdCommand, CrowdReport } from './crowd-client.ts'
import { absoluteLine, type Line } from './report.ts'
import { peakMiB } from './reconnect.ts'
import type { Run } from './rounds.ts'
import { sessionTarget } from './socket-targets.ts'
import { createUsers, type BenchUser } from './socket-users.ts'

const usualRounds = 3
/** One for a first look: `CROWD=10000 npm run bench -- crowds`. */
const crowds = process.env.CROWD ? [Number(process.env.CROWD)] : [5_000, 10_000, 20_000]
const backMs = 30_000
const nodes = 2
/** More clients than one process may have file descriptors. */
const clients = 2

/** The published protocol: all sockets are dropped at once, and how many are back after 30 s. Design: budgets. */
export async function benchmark(run: Run): Promise<Line[]> {
  const lines: Line[] = []
  for (const size of crowds) lines.push(...(await measureCrowd(run.rounds(usualRounds), size)))
  return lines
}

async function measureCrowd(rounds: number, size: number): Promise<Line[]> {
  await using opening = new AsyncDisposableStack()
  const environment = { LOG_LEVEL: 'error' }
  const cluster = opening.use(await startCluster({ replicas: { 'session-gateway': nodes }, environment }))
  const connections = connect(cluster, await createUsers(cluster, size))
  const children = Array.from({ length: clients }, () =>
    opening.adopt(fork(new URL('./crowd-client.ts', import.meta.url)), (child) => void child.disconnect()),
  )
  const tell = async (commandOf: (client: number) => CrowdCommand) =>
    (await Promise.all(children.map((child, client) => ask(child, commandOf(client))))).flat()
  const secret = cluster.environment.INTERNAL_SECRET!
  await tell((client) => ({ open: connections.filter(({ place }) => place % clients === client), secret }))
  const back: number[][] = []
  const cpu = () => readCpu(cluster, { client: children.map(({ pid }) => pid!) })
  const before = cpu()
  for (let round = 0; round < rounds; round += 1) back.push(await tell(() => ({ dropForMs: backMs })))
  console.log(`${size}: CPU in µs for each socket: ${formatCpu(cpuOfOne(before, cpu(), size * rounds))}`)
  console.log(`handshakes of all rounds: ${await outcomesOf(cluster)}`)
  const peaks = await Promise.all(
    cluster.processes.filter(({ service }) => service === 'session-gateway').map(({ pid }) => peakMiB(pid)),
  )
  const last = back.map((times) => Math.max(...times) / 1000)
  return [
    absoluteLine({
      headline: `Of ${size} sockets dropped together, back within ${backMs / 1000} s`,
      what: `${size} sockets on two session gateways, all dropped at once: back within ${backMs / 1000} s`,
      values: back.map((times) => (100 * times.length) / size),
      judge: (values) => Math.min(...values),
      peer: `the last after ${last.map((seconds) => seconds.toFixed(1)).join(', ')} s, ${Math.max(...peaks).toFixed(0)} MiB at the peak`,
      format: (value) => `${value.toFixed(1)} %`,
      bound: { atLeast: 100 },
    }),
  ]
}

function connect(cluster: Cluster, users: readonly BenchUser[]): Connection[] {
  const targets = Array.from({ length: nodes }, (_, node) => sessionTarget(cluster, node))
  return users.map(({ token }, place) => {
    return { url: targets[(place >> 1) % nodes]!.url, place, token }
  })
}

/** How they ended at both nodes: `ready 12, unavailable 3`. */
async function outcomesOf({ processes }: Cluster): Promise<string> {
  const outcomes: Record<string, number> = {}
  for (const { opsUrl } of processes.filter(({ service }) => service === 'session-gateway')) {
    const text = await (await fetch(`${opsUrl}/metrics`)).text()
    for (const [, outcome = '', count] of text.matchAll(/^\w*handshakes\w*\{.*outcome="(\w+)".*\} (\d+)/gm))
      outcomes[outcome] = (outcomes[outcome] ?? 0) + Number(count)
  }
  return Object.entries(outcomes)
    .map((each) => each.join(' '))
    .join(', ')
}

async function ask(child: ChildProcess, command: CrowdCommand): Promise<number[]> {
  child.send(command)
  const [{ readyAfterMs }] = (await once(child, 'message')) as [CrowdReport]
  return readyAfterMs
}
