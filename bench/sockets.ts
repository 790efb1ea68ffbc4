import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCluster } from '../deploy/cluster/cluster.ts'
import type { Line } from './report.ts'
import type { Run } from './rounds.ts'
import { measureHandshakes } from './socket-handshakes.ts'
import { measureMemory } from './socket-memory.ts'
import { measureReset } from './socket-reset.ts'
import { learnReady, startPeer } from './socket-targets.ts'
import { createUsers } from './socket-users.ts'

const heldSockets = 10_000

/** Handshakes, memory and forced disconnects beside a bare ws server. Design: budgets. */
export async function benchmark(run: Run): Promise<Line[]> {
  await using opening = new AsyncDisposableStack()
  const memoryFolder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  opening.defer(() => rm(memoryFolder, { recursive: true }))
  const measured = {
    MEMORY_FOLDER: memoryFolder,
    NODE_OPTIONS: `--expose-gc --import ${new URL('./report-memory.ts', import.meta.url).href}`,
  }
  const environment = { TRUST_PROXY: 'loopback', LOG_LEVEL: 'error', ...measured }
  const cluster = opening.use(await startCluster({ replicas: { 'session-gateway': 2 }, environment }))
  const users = await createUsers(cluster, heldSockets)
  const ready = await learnReady(cluster, users[0]!)
  const bare = opening.use(await startPeer('./bare-sockets.ts', { ...measured, CANNED_READY: ready }))
  // Memory first, while the processes are fresh: freed memory that a process keeps would hide what a socket takes.
  const memory = await measureMemory({ cluster, users, memoryFolder, bare })
  const handshakes = await measureHandshakes(run, { cluster, users, bare: bare.target, ready })
  return [...handshakes, ...memory, await measureReset(run, { cluster, users })]
}
