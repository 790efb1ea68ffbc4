import { connect, type Socket } from 'node:net'
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { callerHeader, createSigningKeys, signCaller } from '@gatehouse/auth'
import { connectDatabase } from '@gatehouse/database'
import { startCluster, type Cluster } from '../deploy/cluster/cluster.ts'
import { absoluteLine, type Line } from './report.ts'
import type { Run } from './rounds.ts'
import { addressOf } from './socket-targets.ts'
import { createUsers, type BenchUser } from './socket-users.ts'
import { textFrame } from './text-frame.ts'

const usualRounds = 3
const connecting = 5_000
const limitS = 15
const limitMiB = 300
/** As existing clients do it, and as clients that ask for whom they show. docs/reference/sockets.md, Large spaces. */
const spaces = [
  { presentMembers: 20_000, auth: {}, who: 'clients' },
  { presentMembers: 50_000, auth: { presences: 'watched' }, who: 'clients that watch' },
]
/** A node that is none of the processes, where the present members are recorded. */
const otherNode = '0b5d3c1e-6a0f-4d57-9d0c-7a4f2c9e8b11'

/** Everybody of two session gateways comes back at once, into a space with many others online. Design: budgets. */
export async function benchmark(run: Run): Promise<Line[]> {
  const lines: Line[] = []
  for (const space of spaces) lines.push(...(await measureSpace(run.rounds(usualRounds), space)))
  return lines
}

async function measureSpace(rounds: number, { presentMembers, auth, who }: (typeof spaces)[number]): Promise<Line[]> {
  await using opening = new AsyncDisposableStack()
  const environment = { LOG_LEVEL: 'error', FORCE_COLOR: '0' }
  const cluster = opening.use(await startCluster({ replicas: { 'session-gateway': 2 }, environment }))
  const orm = opening.adopt(await connectDatabase({ url: cluster.postgres.url }), (open) => open.close(true))
  const users = await createUsers(cluster, connecting + presentMembers)
  await fillSpace(orm, users)
  const nodes = cluster.processes.filter(({ service }) => service === 'session-gateway')

  const times: number[] = []
  const refusals: string[] = []
  const lingering: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const attempts = users.slice(0, connecting).map((user, place) => {
      return openUntilReady(targetOf(cluster, nodes[place % 2]!.url, place), { token: user.token, ...auth })
    })
    const startedAt = performance.now()
    const results = await Promise.all(attempts.map(({ ready }) => ready))
    refusals.push(...results.filter((result) => typeof result === 'string'))
    times.push(Math.max(...results.map((result) => (typeof result === 'string' ? Infinity : result))) - startedAt)
    for (const { socket } of attempts) socket.destroy()
    await pause(1_000)
    lingering.push(await countQueries(orm))
    await untilOffline(orm)
  }
  const peaks = await Promise.all(nodes.map(({ pid }) => peakMiB(pid)))
  const reasons = [...new Set(refusals)].join(', ')
  const seconds = absoluteLine({
    what: `${connecting} ${who} reconnect into a space with ${presentMembers} online, two session gateways: the last ready`,
    values: times.map((ms) => ms / 1000),
    peer: `${refusals.length} refused ${reasons}`.trim(),
    format: (value) => `${value.toFixed(1)} s`,
    bound: { atMost: limitS },
  })
  return [
    { ...seconds, limit: `${seconds.limit}, none refused`, within: seconds.within && refusals.length === 0 },
    absoluteLine({
      what: 'peak resident memory of a session gateway in it',
      values: peaks,
      judge: (values) => Math.max(...values),
      peer: 'the larger of both',
      format: (value) => `${value.toFixed(0)} MiB`,
      bound: { atMost: limitMiB },
    }),
    absoluteLine({
      what: 'its queries still running a second after the clients left',
      values: lingering,
      judge: (values) => Math.max(...values),
      peer: `${rounds} rounds`,
      format: String,
      bound: { atMost: 0 },
    }),
  ]
}

type Orm = Awaited<ReturnType<typeof connectDatabase>>

async function fillSpace(orm: Orm, users: readonly BenchUser[]): Promise<void> {
  const em = orm.em.fork()
  const ids = `{${users.map(({ id }) => id).join(',')}}`
  const present = `{${users
    .slice(connecting)
    .map(({ id }) => id)
    .join(',')}}`
  await em.execute(`insert into spaces (id, name, owner_id) values (1, 'Large', ?)`, [users[0]!.id])
  await em.execute('insert into space_members (space_id, user_id) select 1, unnest(?::bigint[])', [ids])
  await em.execute(`insert into session_nodes (id, seen_at) values (?, now() + interval '1 hour')`, [otherNode])
  await em.execute('insert into presences (user_id, node_id) select unnest(?::bigint[]), ?', [present, otherNode])
  await em.execute(`update users set status = 'online' where id = any(?::bigint[])`, [present])
  await em.execute('analyze')
}

/** Queries of the session gateways that run, but for the one that asks. */
async function countQueries(orm: Orm): Promise<number> {
  const [row] = await orm.em.fork().execute<{ count: number }[]>(
    `select count(*)::int as count from pg_stat_activity
     where state = 'active' and application_name like '%session%' and pid <> pg_backend_pid()`,
  )
  return row!.count
}

/** Until the departure of the last round is recorded. */
async function untilOffline(orm: Orm): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    const rows = await orm.em.fork().execute('select 1 from presences where node_id <> ? limit 1', [otherNode])
    if (rows.length === 0) return
    await pause(200)
  }
  throw new Error('the users of the last round stayed online')
}

function targetOf({ environment }: Cluster, url: string, place: number) {
  const key = createSigningKeys('gateway', environment.INTERNAL_SECRET!)
  const options = { issuer: 'bench', audience: 'session-gateway', now: Date.now() }
  return { url: new URL(url), caller: signCaller(key, { address: addressOf(place), account: null }, options) }
}

/** A raw socket: reads its `ready` to the end, and drops what follows. `ready` is its time, or why it was refused. */
function openUntilReady({ url, caller }: ReturnType<typeof targetOf>, auth: object) {
  const socket: Socket = connect({ host: url.hostname, port: Number(url.port) })
  const key = Buffer.alloc(16).toString('base64')
  const lines = ['GET /ws HTTP/1.1', `Host: ${url.host}`, 'Connection: Upgrade', 'Upgrade: websocket']
  lines.push('Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${key}`, `${callerHeader}: ${caller}`, '', '')
  socket.write(lines.join('\r\n'))
  const ready = new Promise<number | string>((resolve) => {
    let head = Buffer.alloc(0)
    let upgraded = false
    let remainingBytes = -1
    socket.on('data', (data: Buffer) => {
      if (remainingBytes === 0) return
      if (remainingBytes > 0) remainingBytes = Math.max(0, remainingBytes - data.length)
      else {
        head = Buffer.concat([head, data])
        if (!upgraded) {
          const end = head.indexOf('\r\n\r\n')
          if (end < 0) return
          if (!head.subarray(0, 12).equals(Buffer.from('HTTP/1.1 101')))
            return resolve(`HTTP ${head.toString('latin1', 9, 12)}`)
          upgraded = true
          head = head.subarray(end + 4)
          socket.write(textFrame(JSON.stringify({ type: 'auth', ...auth })))
        }
        if (head.length < 32) return
        if (!head.subarray(0, 32).includes('"type":"ready"')) return resolve(head.subarray(2, 80).toString())
        remainingBytes = Math.max(0, frameLength(head) - head.length)
      }
      if (remainingBytes === 0) resolve(performance.now())
    })
    socket.on('error', ({ message }) => resolve(message))
    socket.on('close', () => resolve(upgraded ? 'closed before ready' : 'closed before the upgrade'))
  })
  return { socket, ready }
}

/** Bytes of the first frame, with its header. */
function frameLength(bytes: Buffer): number {
  const length = bytes[1]! & 0x7f
  if (length < 126) return 2 + length
  return length === 126 ? 4 + bytes.readUInt16BE(2) : 10 + Number(bytes.readBigUInt64BE(2))
}

export async function peakMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}
