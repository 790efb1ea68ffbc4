import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import type { Cluster } from '../deploy/cluster/cluster.ts'
import type { Line } from './report.ts'
import { closeSocketPool, openSocketPool, type SocketTarget } from './socket-pool.ts'
import { sessionTarget, type PeerProcess } from './socket-targets.ts'
import type { BenchUser } from './socket-users.ts'

const measuredSockets = 4_000
const warmUpSockets = 300

type Bench = { cluster: Cluster; users: readonly BenchUser[]; memoryFolder: string; bare: PeerProcess }

/** What an idle authenticated socket takes of a session gateway beside a bare ws server, and whether all of them live. */
export async function measureMemory({ cluster, users, memoryFolder, bare }: Bench): Promise<Line[]> {
  const node = cluster.processes.filter(({ service }) => service === 'session-gateway')[1]!
  const target = sessionTarget(cluster, 1)
  const tokens = users.map(({ token }) => token)
  const bareCost = await costOf(bare.target, tokens, { memoryFolder, pid: bare.pid })
  await closeSocketPool(bareCost.pool)
  const cost = await costOf(target, tokens, { memoryFolder, pid: node.pid })
  const others = await openSocketPool(target, tokens.slice(measuredSockets))
  const alive = await countAlive([...cost.pool.sockets, ...others.sockets])
  await closeSocketPool(cost.pool)
  await closeSocketPool(others)
  const line = (what: string, kind: 'heap' | 'resident'): Line => ({
    what,
    measured: `${(cost[kind] / 1024).toFixed(1)} KiB`,
    peer: `bare ws ${(bareCost[kind] / 1024).toFixed(1)} KiB`,
    ratio: cost[kind] / bareCost[kind],
    spread: `one sample over ${measuredSockets} sockets`,
    limit: '≤ 1.5',
    within: cost[kind] <= 1.5 * bareCost[kind],
  })
  return [
    {
      ...line('resident memory of an idle authenticated socket', 'resident'),
      headline: 'Memory of an idle socket (less is better)',
    },
    line('the same on the heap of JavaScript', 'heap'),
    {
      what: 'idle authenticated sockets held by one session gateway',
      measured: `${alive} alive`,
      peer: `${users.length} opened`,
      ratio: alive / users.length,
      limit: 'all',
      within: alive === users.length,
    },
  ]
}

/** How many answer a ping. */
async function countAlive(sockets: readonly WebSocket[]): Promise<number> {
  const answers = sockets.map(async (socket) => {
    if (socket.readyState !== socket.OPEN) return false
    const answer = once(socket, 'message')
    socket.send('{"type":"ping"}')
    return String((await answer)[0]) === '{"type":"pong"}'
  })
  return (await Promise.all(answers)).filter(Boolean).length
}

/** What a pool costs a process for each socket, in bytes. */
async function costOf(target: SocketTarget, tokens: readonly string[], process: { memoryFolder: string; pid: number }) {
  await closeSocketPool(await openSocketPool(target, tokens.slice(0, warmUpSockets)))
  const before = await memoryOf(process)
  const pool = await openSocketPool(target, tokens.slice(0, measuredSockets))
  const after = await memoryOf(process)
  const each = (bytes: number) => bytes / pool.sockets.length
  return {
    pool,
    heap: each(after.heapUsed + after.external - before.heapUsed - before.external),
    resident: each(after.rss - before.rss),
  }
}

async function memoryOf({ memoryFolder, pid }: { memoryFolder: string; pid: number }): Promise<NodeJS.MemoryUsage> {
  const file = join(memoryFolder, String(pid))
  await rm(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  for (let tries = 0; tries < 600; tries += 1) {
    const text = await readFile(file, 'utf8').catch(() => undefined)
    if (text) return JSON.parse(text) as NodeJS.MemoryUsage
    await pause(50)
  }
  throw new Error(`process ${pid} did not report its memory`)
}
