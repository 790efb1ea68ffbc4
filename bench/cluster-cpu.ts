import { listTree } from '@gatehouse/local-servers'
import type { Cluster } from '../deploy/cluster/cluster.ts'
import { cpuOf } from './gateway/child.ts'

/** CPU seconds by the name of a service or server; replicas count together. */
export type CpuTimes = Record<string, number>

/** What the cluster's processes have taken so far, and further processes by name. */
export function readCpu(
  { processes, postgres, nats, redis }: Cluster,
  others: Record<string, number[]> = {},
): CpuTimes {
  const times: CpuTimes = {}
  const add = (name: string, pids: readonly number[]) => {
    times[name] = (times[name] ?? 0) + pids.reduce((sum, pid) => sum + cpuWithEnded(pid), 0)
  }
  // Hashing has a process of its own, and so has each connection to PostgreSQL.
  for (const { service, pid } of processes) add(service, listTree(pid))
  add('PostgreSQL', listTree(postgres.pid))
  add('NATS', [nats.pid])
  add('Redis', [redis.pid])
  for (const [name, pids] of Object.entries(others)) add(name, pids)
  return times
}

/** Microseconds of each for one of so many operations. */
export function cpuOfOne(before: CpuTimes, after: CpuTimes, operations: number): CpuTimes {
  return Object.fromEntries(
    Object.entries(after).map(([name, seconds]) => [name, ((seconds - (before[name] ?? 0)) * 1e6) / operations]),
  )
}

/** `gateway 310, PostgreSQL 95`, the most first; without those below a microsecond. */
export function formatCpu(times: CpuTimes): string {
  const listed = Object.entries(times).filter(([, micros]) => micros >= 1)
  return listed
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, micros]) => `${name} ${micros.toFixed(0)}`)
    .join(', ')
}

/** A process that ended meanwhile counts in its parent. */
function cpuWithEnded(pid: number): number {
  try {
    return cpuOf(pid, { withEnded: true })
  } catch {
    return 0
  }
}
