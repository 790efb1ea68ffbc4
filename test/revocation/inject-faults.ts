import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster } from '../../deploy/cluster/cluster.ts'

type Pick = (below: number) => number

type FaultTarget = { name: string; kill(): Promise<void>; start(): Promise<void>; pause(): void; resume(): void }

/** `done` counts the faults by name. */
type Options = { pick: Pick; done: Map<string, number>; stop: AbortSignal }

/**
 * Kills, freezes and restarts Redis, NATS, gateways, session gateways and identities one after the other until `stop`
 * aborts; all of them run again when it resolves.
 */
export async function injectFaults(cluster: Cluster, { pick, done, stop }: Options): Promise<void> {
  const count = (what: string): void => void done.set(what, (done.get(what) ?? 0) + 1)
  const processes = cluster.processes.filter(({ service }) => /gateway|identity/.test(service))
  const targets: FaultTarget[] = [
    ...[0, 1, 2, 3].map(() => named('Redis', cluster.redis)),
    ...[0, 1].map(() => named('NATS', cluster.nats)),
    ...processes.map((process) => named(process.service, process)),
  ]
  // Redis and NATS first, so that a short run has them too.
  const first = [named('Redis', cluster.redis), named('NATS', cluster.nats), named('Redis', cluster.redis)]
  while (!stop.aborted) {
    const target = first.shift() ?? targets[pick(targets.length)]!
    if (pick(2) === 0) {
      count(`${target.name} killed`)
      await target.kill()
      await pause(pick(1_500))
      await target.start()
    } else {
      count(`${target.name} frozen`)
      target.pause()
      await pause(200 + pick(2_500))
      target.resume()
    }
    await pause(200 + pick(800))
  }
}

function named(name: string, target: Omit<FaultTarget, 'name'>): FaultTarget {
  return {
    name,
    kill: () => target.kill(),
    start: () => target.start(),
    pause: () => target.pause(),
    resume: () => target.resume(),
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
