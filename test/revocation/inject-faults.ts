import { setTimeout as pause } from 'node:timers/promises'
import { eventually, type NatsCluster } from '@gatehouse/test-kit'
import type { Cluster } from '../../deploy/cluster/cluster.ts'

type Pick = (below: number) => number

type FaultTarget = {
  name: string
  kill(): Promise<void>
  start(): Promise<void>
  pause(): void | Promise<void>
  resume(): void
}

/** `counts` has the faults by name. `nats` is that of `cluster` where it has several nodes. */
type Options = {
  pick: Pick
  counts: Map<string, number>
  stop: AbortSignal
  nats?: NatsCluster | undefined
  /** Each process of these is killed or frozen first, in turn. By default gateways, session gateways and identities, as it falls. */
  services?: RegExp
}

/**
 * Kills, freezes and restarts Redis, NATS and processes one after the other until `stop` aborts; all of them run again when it resolves.
 */
export async function injectFaults(
  cluster: Cluster,
  { pick, counts, stop, nats: nodes, services }: Options,
): Promise<void> {
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)
  const processes = cluster.processes.filter(({ service }) => (services ?? /gateway|identity/).test(service))
  const redis = faultTarget('Redis', cluster.redis)
  const nats = nodes ? leaderOf(nodes) : faultTarget('NATS', cluster.nats)
  const own = processes.map((process) => faultTarget(process.service, process))
  const targets: FaultTarget[] = [...(services ? [redis, nats] : [redis, redis, redis, redis, nats, nats]), ...own]
  // So that a short run has them too.
  const first = services ? [...own, redis, nats] : nodes ? [nats, redis, nats, nats] : [redis, nats, redis]
  let toKill = services ? own.map((_, index) => index % 2 === 0) : []
  while (!stop.aborted) {
    const target = first.shift() ?? targets[pick(targets.length)]!
    const [isKill = pick(2) === 0, ...others] = toKill
    toKill = others
    if (isKill) {
      count(`${target.name} killed`)
      await target.kill()
      await pause(pick(1_500))
      await target.start()
    } else {
      count(`${target.name} frozen`)
      await target.pause()
      await pause(200 + pick(2_500))
      target.resume()
    }
    await pause(200 + pick(800))
  }
}

function faultTarget(name: string, target: Omit<FaultTarget, 'name'>): FaultTarget {
  return {
    name,
    kill: () => target.kill(),
    start: () => target.start(),
    pause: () => target.pause(),
    resume: () => target.resume(),
  }
}

/** The node that leads the events at the time. One that was killed starts when another leads them. */
function leaderOf({ nodes, leaderOf }: NatsCluster): FaultTarget {
  const stream = 'gatehouse-events'
  let index = 0
  return {
    name: 'leader of NATS',
    async kill() {
      index = await leaderOf(stream)
      await nodes[index]!.kill()
    },
    async start() {
      await eventually('another node leads', async () => (await leaderOf(stream)) !== index)
      await nodes[index]!.start()
    },
    async pause() {
      index = await leaderOf(stream)
      nodes[index]!.pause()
    },
    resume: () => nodes[index]!.resume(),
  }
}

/** The same choices for the same seed. */
export function seededPick(seed: number): Pick {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}
