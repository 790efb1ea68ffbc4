import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { befriendAll, createUsers, type BenchUser } from './socket-users.ts'
import { startCluster, type Cluster } from '../deploy/cluster/cluster.ts'
import { callerHeader, createCallerKey, signCallerToken } from '@gatehouse/auth'
import { closures } from '@gatehouse/contracts'
import { WebSocket } from 'ws'
import { openRaw, type RawSocket } from './socket-raw.ts'
import { closeSocketPool, openSocketPool, type SocketTarget } from './socket-pool.ts'
import type { Line } from './report.ts'

const rounds = 3
const perRound = 700
const heldSockets = 10_000
const measuredSockets = 4_000
const warmUpSockets = 300
const resets = 20
/** As many as one account may have on a node, over two nodes. */
const socketsOfOne = 100

type Bench = { cluster: Cluster; users: BenchUser[]; memoryFolder: string; bare: { target: SocketTarget; pid: number } }

/** Handshakes, memory and forced disconnects beside a bare ws server. Design: budgets. */
export async function benchmark(): Promise<Line[]> {
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
  const bare = opening.use(await startBare({ ...measured, CANNED_READY: ready }))
  const bench = { cluster, users, memoryFolder, bare }
  // Memory first, while the processes are fresh: freed memory that a process keeps would hide what a socket takes.
  const memory = await measureMemory(bench)
  const handshakes = await measureHandshakes(bench)
  return [...handshakes, ...memory, await measureReset(bench)]
}

async function measureHandshakes({ cluster, users, bare }: Bench): Promise<Line[]> {
  const targets = {
    bare: bare.target,
    ours: sessionTarget(cluster, 0),
    whole: gatewayTarget(cluster),
    notified: sessionTarget(cluster, 0),
  }
  const spentMs = { bare: 0, ours: 0, whole: 0, notified: 0 }
  const measure = async (name: keyof typeof targets, round: number) => {
    const tokens = users.slice(round * perRound, (round + 1) * perRound).map(({ token }) => token)
    const pool = await openSocketPool(targets[name], tokens)
    await closeSocketPool(pool)
    // The first round warms up.
    if (round > 0) spentMs[name] += pool.tookMs
  }
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of ['bare', 'ours', 'whole'] as const) await measure(name, round)
  }
  await befriendAll(cluster, users.length)
  for (let round = 0; round <= rounds; round += 1) await measure('notified', round)
  const perSecond = (name: keyof typeof targets) => (rounds * perRound * 1000) / spentMs[name]
  const line = (what: string, name: 'ours' | 'whole' | 'notified', least: number | null): Line => {
    const ratio = perSecond(name) / perSecond('bare')
    return {
      what,
      measured: `${perSecond(name).toFixed(0)} handshakes/s`,
      peer: `bare ws ${perSecond('bare').toFixed(0)}/s`,
      ratio,
      limit: least === null ? 'for information' : `≥ ${least}`,
      within: least === null || ratio >= least,
    }
  }
  return [
    line('handshakes to ready, at the session gateway', 'ours', 0.5),
    line('the same through the gateway', 'whole', null),
    line('the same at the session gateway, each with an online friend who is notified', 'notified', null),
  ]
}

async function measureMemory({ cluster, users, memoryFolder, bare }: Bench): Promise<Line[]> {
  const node = cluster.processes.filter(({ service }) => service === 'session-gateway')[1]!
  const target = sessionTarget(cluster, 1)
  const tokens = users.map(({ token }) => token)
  const bareCost = await costOf(bare.target, tokens, { memoryFolder, pid: bare.pid })
  await closeSocketPool(bareCost.pool)
  const cost = await costOf(target, tokens, { memoryFolder, pid: node.pid })
  const others = await openSocketPool(target, tokens.slice(measuredSockets, heldSockets))
  const alive = await countAlive([...cost.pool.sockets, ...others.sockets])
  await closeSocketPool(cost.pool)
  await closeSocketPool(others)
  const line = (what: string, kind: 'heap' | 'resident'): Line => ({
    what,
    measured: `${(cost[kind] / 1024).toFixed(1)} KiB`,
    peer: `bare ws ${(bareCost[kind] / 1024).toFixed(1)} KiB`,
    ratio: cost[kind] / bareCost[kind],
    limit: '≤ 1.5',
    within: cost[kind] <= 1.5 * bareCost[kind],
  })
  return [
    line('resident memory of an idle authenticated socket', 'resident'),
    line('the same on the heap of JavaScript', 'heap'),
    {
      what: 'idle authenticated sockets held by one session gateway',
      measured: `${alive} alive`,
      peer: `${heldSockets} opened`,
      ratio: alive / heldSockets,
      limit: 'all',
      within: alive === heldSockets,
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

/** From the moment the admin has the answer until the last of the user's sockets on two nodes is closed. */
async function measureReset({ cluster, users }: Bench): Promise<Line> {
  const [admin, ...others] = users
  const waits: number[] = []
  for (const user of others.slice(0, resets)) {
    const tokens = Array.from({ length: socketsOfOne / 2 }, () => user.token)
    const sockets = await Promise.all([0, 1].map((node) => openRawSockets(sessionTarget(cluster, node), tokens)))
    const closes = sockets.flat().map(({ closed }) => closed)
    const answer = await fetch(`${cluster.gateways[0]}/api/admin/users/${user.id}/reset-password`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin!.token}` },
    })
    const answeredAt = performance.now()
    if (!answer.ok) throw new Error(`the reset answered ${answer.status}: ${await answer.text()}`)
    const closings = await Promise.all(closes)
    if (closings.some(({ code }) => code !== closures.passwordReset.code)) throw new Error('closed for another reason')
    waits.push(Math.max(...closings.map(({ at }) => at)) - answeredAt)
  }
  const worst = Math.max(...waits)
  return {
    what: `admin reset: the last of ${socketsOfOne} sockets on two session gateways is closed`,
    measured: `${worst.toFixed(0)} ms`,
    peer: `${resets} resets, median ${waits.toSorted((a, b) => a - b)[Math.floor(resets / 2)]!.toFixed(0)} ms`,
    ratio: null,
    limit: '≤ 100 ms',
    within: worst <= 100,
  }
}

async function openRawSockets(target: SocketTarget, tokens: readonly string[]): Promise<RawSocket[]> {
  const sockets: RawSocket[] = []
  for (let first = 0; first < tokens.length; first += 50) {
    const some = tokens.slice(first, first + 50)
    sockets.push(
      ...(await Promise.all(some.map((token, place) => openRaw(target.url, target.headers(first + place), token)))),
    )
  }
  return sockets
}

/** Clients as the gateway forwards them, each from another address: the limit for one address is not measured here. */
function sessionTarget({ processes, environment }: Cluster, node: number): SocketTarget {
  const { url } = processes.filter(({ service }) => service === 'session-gateway')[node]!
  const key = createCallerKey(environment.INTERNAL_SECRET!)
  return {
    url: `${url.replace('http', 'ws')}/ws`,
    headers: (place) => ({
      [callerHeader]: signCallerToken(key, { address: addressOf(place), account: null }, Date.now()),
    }),
  }
}

function gatewayTarget({ gateways }: Cluster): SocketTarget {
  const headers = (place: number) => ({ 'x-forwarded-for': addressOf(place) })
  return { url: `${gateways[0]!.replace('http', 'ws')}/ws`, headers }
}

const addressOf = (place: number) => `10.${place >> 16}.${(place >> 8) & 255}.${place & 255}`

async function learnReady(cluster: Cluster, user: BenchUser): Promise<string> {
  const target = sessionTarget(cluster, 0)
  const socket = new WebSocket(target.url, { headers: target.headers(0) })
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'auth', token: user.token }))
  const [data] = (await once(socket, 'message')) as [Buffer]
  socket.terminate()
  return String(data)
}

async function startBare(environment: Record<string, string>) {
  const child = fork(new URL('./bare-sockets.ts', import.meta.url), { env: { ...process.env, ...environment } })
  const [port] = (await once(child, 'message')) as [number]
  return {
    target: { url: `ws://127.0.0.1:${port}/ws`, headers: () => ({}) },
    pid: child.pid!,
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}
