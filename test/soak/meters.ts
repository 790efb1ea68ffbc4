import { readFileSync, readdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { listTree } from '@gatehouse/local-servers'
import { Redis } from 'ioredis'
import { connect } from 'nats'
import pg from 'pg'
import type { System } from './system.ts'

export type Meters = AsyncDisposable & {
  read(): Promise<Record<string, number>>
  /** Seconds of CPU so far, of every process of the system and of this one. */
  cpuSeconds(): number
}

type Program = {
  name: string
  pid: () => number
  opsUrl?: string
  /** Full collections of the heap at the last sample. */
  collections?: number
}

const mebibyte = 1024 ** 2
const ticksPerSecond = 100

/** Reads what each process, PostgreSQL, NATS and Redis hold. Needs /proc. */
export async function openMeters({ cluster, peer, uploads }: System): Promise<Meters> {
  await using opening = new AsyncDisposableStack()
  const { postgres, nats, redis } = cluster
  const programs: Program[] = [
    ...cluster.processes.map((one) => ({
      name: `${one.service}-${one.index}`,
      pid: () => one.pid,
      opsUrl: one.opsUrl,
    })),
    { name: 'peer', pid: () => peer.pid, opsUrl: peer.opsUrl },
    ...Object.entries({ postgres, nats, redis }).map(([name, server]) => ({ name, pid: () => server.pid })),
  ]
  const databases = { '': postgres.url, ' of the peer': peer.databaseUrl }
  const clients = await Promise.all(
    Object.entries(databases).map(async ([of, connectionString]) => {
      const client = new pg.Client({ connectionString, application_name: 'soak' })
      await client.connect()
      opening.defer(() => client.end())
      return { of, client, sql: await countingRows(client) }
    }),
  )
  const bus = opening.adopt(await connect({ servers: nats.url }), (open) => open.close())
  const jetstream = await bus.jetstreamManager()
  const cache = opening.adopt(new Redis(redis.url), (open) => void open.disconnect())

  async function readStreams(): Promise<[string, number][]> {
    const readings: [string, number][] = []
    for await (const { config, state } of jetstream.streams.list()) {
      readings.push([`messages: stream ${config.name}`, state.messages])
      const consumers = []
      for await (const consumer of jetstream.consumers.list(config.name)) consumers.push(consumer)
      const waiting = consumers.reduce((sum, one) => sum + one.num_pending + one.num_ack_pending, 0)
      readings.push([`consumers: ${config.name}`, consumers.length], [`waiting: consumers of ${config.name}`, waiting])
    }
    return readings
  }

  const open = opening.move()
  return {
    async read() {
      const ofPrograms = await Promise.all(programs.map(readProgram))
      const ofDatabases = await Promise.all(clients.map(({ of, client, sql }) => readDatabase(of, client, sql)))
      const files = await readdir(uploads, { recursive: true }).catch(() => [])
      const others: [string, number][] = [
        ['keys: Redis', await cache.dbsize()],
        ['files: uploads', files.length],
        ...(await readStreams()),
      ]
      return Object.fromEntries([...ofPrograms.flat(), ...ofDatabases.flat(), ...others])
    },
    cpuSeconds: () => {
      const own = process.cpuUsage()
      const ofPrograms = programs.flatMap(({ pid }) => listTree(pid()).map(cpuOf))
      return ofPrograms.reduce((sum, each) => sum + each, (own.user + own.system) / 1e6)
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** The heap only after a full collection: in between it grows by what nobody holds any more, for up to an hour at a small load. */
async function readProgram(program: Program): Promise<[string, number][]> {
  const { name, pid, opsUrl, collections } = program
  const tree = listTree(pid())
  const sum = (read: (pid: number) => number) => tree.reduce((total, member) => total + read(member), 0)
  const readings: [string, number][] = [
    [`memory MiB: ${name}`, sum(memoryOf) / mebibyte],
    [`descriptors: ${name}`, sum(descriptorsOf)],
  ]
  if (!opsUrl) return readings
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
  const metric = (of: string): number => Number(new RegExp(`^${of} (\\S+)$`, 'm').exec(metrics)?.[1] ?? NaN)
  const [, counted] = /^nodejs_gc_duration_seconds_count\{kind="major"[^}]*\} (\d+)$/m.exec(metrics) ?? []
  program.collections = Number(counted ?? 0)
  const isCollected = collections !== undefined && program.collections > collections
  if (isCollected) readings.push([`heap MiB: ${name}`, metric('nodejs_heap_size_used_bytes') / mebibyte])
  const sockets = metric('gatehouse_gateway_open_sockets')
  return Number.isNaN(sockets) ? readings : [...readings, [`sockets: ${name}`, sockets]]
}

/** What it shares with others, such as programs and PostgreSQL's buffers, is not its own. A process may have ended: 0. */
const memoryOf = (pid: number): number =>
  1024 * Number(/^RssAnon:\s+(\d+)/m.exec(readOr('', () => readFileSync(`/proc/${pid}/status`, 'utf8')))?.[1] ?? 0)

const descriptorsOf = (pid: number): number => readOr([], () => readdirSync(`/proc/${pid}/fd`)).length

/** With that of its children that have ended. */
function cpuOf(pid: number): number {
  const stat = readOr('', () => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks || 0), 0) / ticksPerSecond
}

function readOr<T>(otherwise: T, read: () => T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}

async function countingRows(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ tablename: string }>(
    "select tablename from pg_tables where schemaname = 'public' order by 1",
  )
  return rows
    .map(({ tablename: name }) => `select '${name}' as name, count(*)::int as rows from "${name}"`)
    .join(' union all ')
}

async function readDatabase(of: string, client: pg.Client, sql: string): Promise<[string, number][]> {
  const { rows } = await client.query<{ name: string; rows: number }>(sql)
  const size = await client.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes')
  return [
    ...rows.map(({ name, rows: count }): [string, number] => [`rows${of}: ${name}`, count]),
    [`size MiB${of}: database`, Number(size.rows[0]!.bytes) / mebibyte],
  ]
}
