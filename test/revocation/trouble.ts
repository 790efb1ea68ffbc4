import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster } from '../../deploy/cluster/cluster.ts'

type Pick = (below: number) => number

type Frail = {
  name: string
  kill(): Promise<void>
  start(): Promise<void>
  pause(): void
  resume(): void
}

/**
 * Kills, freezes and restarts Redis, NATS, gateways, session gateways and identities one after the other until `signal`
 * says stop; everything runs again when it resolves. Gives how often it did what.
 */
export async function makeTrouble(cluster: Cluster, pick: Pick, signal: AbortSignal): Promise<Map<string, number>> {
  const done = new Map<string, number>()
  const count = (what: string): void => void done.set(what, (done.get(what) ?? 0) + 1)
  const processes = cluster.processes.filter(({ service }) => /gateway|identity/.test(service))
  const victims: Frail[] = [
    ...[0, 1, 2, 3].map(() => named('Redis', cluster.redis)),
    ...[0, 1].map(() => named('NATS', cluster.nats)),
    ...processes.map((process) => named(process.service, process)),
  ]
  // However short the run, the cache and the bus have their turn.
  const first = [named('Redis', cluster.redis), named('NATS', cluster.nats), named('Redis', cluster.redis)]
  while (!signal.aborted) {
    const victim = first.shift() ?? victims[pick(victims.length)]!
    if (pick(2) === 0) {
      count(`${victim.name} killed`)
      await victim.kill()
      await pause(pick(1_500))
      await victim.start()
    } else {
      count(`${victim.name} frozen`)
      victim.pause()
      await pause(200 + pick(2_500))
      victim.resume()
    }
    await pause(200 + pick(800))
  }
  return done
}

function named(name: string, victim: Omit<Frail, 'name'>): Frail {
  return {
    name,
    kill: () => victim.kill(),
    start: () => victim.start(),
    pause: () => victim.pause(),
    resume: () => victim.resume(),
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
