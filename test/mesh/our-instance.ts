import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, unwatchProcess, watchProcess } from '@gatehouse/local-servers'
import { answered, eventually, migratedDatabase } from '@gatehouse/test-kit'
import pg from 'pg'
import { callApi } from '../api.ts'
import type { MeshClock } from './clock.ts'
import type { Journal } from './journal.ts'
import { newSecret, type OurPlace, type InstanceState } from './places.ts'
import type { Road } from './road.ts'

const startLimitMs = 180_000

export type OurProcess = {
  log(): string
  /** Its clock goes as that of the mesh does now. */
  keepPace(): void
  /** Starts on another port next time. */
  move(): Promise<void>
  /** Another key encrypts from the next start on; what the ones before encrypted stays readable. */
  renewKeys(): void
}

type Options = {
  name: string
  origin: string
  road: Road
  clock: MeshClock
  journal: Journal
  resolve: string
  certificateFile: string
  autoAccept: boolean
}

/** One of ours: a process of its own, which `kill` ends as kill -9 does, on a database of its own. */
export async function startOurs(options: Options): Promise<OurPlace & AsyncDisposable> {
  const { name, origin, road, journal } = options
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-mesh-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  let database = await migratedDatabase()
  opening.defer(() => database[Symbol.asyncDispose]())
  const { hostname: host } = new URL(origin)
  const keys = { JWT_SECRET: newSecret(), INTERNAL_SECRET: newSecret(), ENCRYPTION_SECRET: newSecret() }
  const former: string[] = []
  for (const key of Object.values(keys)) journal.secrets.add(key)
  let [port, life, log, adminToken] = [await freePort(), 1, '', '']
  let child: ChildProcess | undefined
  const kill = async () => {
    const ending = child
    child = undefined
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return
    ending.kill('SIGKILL')
    await once(ending, 'exit')
    unwatchProcess(ending.pid!)
  }
  opening.defer(kill)

  async function start(): Promise<void> {
    let out = ''
    const started = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'our-process.ts')],
      { env: environment(), stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
    )
    watchProcess(started.pid!, 'SIGKILL')
    const write = (chunk: unknown) => {
      out += String(chunk)
      log += String(chunk)
    }
    started.stdout!.on('data', write)
    started.stderr!.on('data', write)
    child = started
    await eventually(
      `${name} listens`,
      () => {
        if (started.exitCode !== null) throw new Error(out.slice(-2_000))
        return out.includes('the mesh: listening')
      },
      startLimitMs,
    )
    road.leadTo(`http://127.0.0.1:${port}`)
  }

  function environment(): Record<string, string> {
    const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
    return {
      PATH,
      HOME,
      NODE_COMPILE_CACHE,
      NODE_EXTRA_CA_CERTS: options.certificateFile,
      DATABASE: database.url,
      MESH_PACE: JSON.stringify(options.clock.current()),
      ...keys,
      ...(former.length > 0 && { ENCRYPTION_SECRET_PREVIOUS: former.join('\n') }),
      PORT: String(port),
      HOST: '127.0.0.1',
      PUBLIC_ORIGIN: origin,
      DOMAIN: host,
      GATEHOUSE_DATA: folder,
      TRUST_PROXY: 'loopback',
      LOG_LEVEL: 'debug',
      HASHING_THREADS: '1',
      HASHING_QUEUE: '1000',
      FEDERATION_ALLOW_PRIVATE: 'loopback',
      FEDERATION_RESOLVE: options.resolve,
    }
  }

  /** The database is new, so that its first account is the admin's. */
  async function settle(): Promise<void> {
    // Test databases are copies of one template, and with it of one instanceId.
    await query('update instance_settings set instance_id = gen_random_uuid()')
    await start()
    const password = newSecret()
    journal.secrets.add(password)
    const registered = await asAdmin('POST /api/auth/register', { username: 'admin', password })
    adminToken = registered.body.token ?? ''
    journal.secrets.add(adminToken)
    await answered(asAdmin('PATCH /api/settings/instance', { autoAcceptPeering: options.autoAccept }))
  }

  /** Under faults an admin too may be refused; who looks again, sees it. */
  async function asAdmin(request: string, body?: object) {
    const options = { ...(adminToken && { token: adminToken }), ...(body && { body }) }
    return await callApi(`http://127.0.0.1:${port}`, request, {
      ...options,
      headers: { 'X-Forwarded-For': `198.18.${Math.floor(Math.random() * 256)}.${Math.floor(Math.random() * 256)}` },
    })
  }

  async function query<T>(sql: string): Promise<T[]> {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    try {
      return (await client.query(sql)).rows as T[]
    } finally {
      await client.end()
    }
  }

  type PeerRow = { id: string; origin: string; status: string }
  async function onPeer(other: string, method: string, path = '', body?: object): Promise<number> {
    const { peers = [] } = (await asAdmin('GET /api/federation/peers')).body as { peers?: PeerRow[] }
    const row = peers.find((one) => one.origin === other)
    return row ? (await asAdmin(`${method} /api/federation/peers/${row.id}${path}`, body)).status : 404
  }

  async function readState(): Promise<InstanceState> {
    const users = await query<InstanceState['users'][number]>(
      `select id::text as id, username, display_name as "displayName", home_instance as "homeInstance",
         home_user_id as "homeUserId", is_deleted as deleted, former_home_instance as "formerHome" from users`,
    )
    const peers = await query<PeerRow>('select origin, status from peers')
    const [rest] = await query<{ count: string }>(
      `select (select count(*) from outbox) + (select count(*) from federation_deliveries d
         join peers p on p.id = d.peer_id and p.status = 'active') as count`,
    )
    const orders = await query<InstanceState['orders'][number]>(
      'select user_id::text as "userId", origin, state from deletion_orders',
    )
    return { users, orders, peers: new Map(peers.map((one) => [one.origin, one.status])), queued: Number(rest?.count) }
  }

  await settle()
  const open = opening.move()
  return {
    kind: 'ours',
    name,
    origin,
    host,
    road,
    kill,
    start,
    readState,
    own: {
      log: () => log,
      keepPace: () => void child?.send(options.clock.current()),
      move: async () => void (port = await freePort()),
      renewKeys: () => {
        former.unshift(keys.ENCRYPTION_SECRET)
        keys.ENCRYPTION_SECRET = newSecret()
        journal.secrets.add(keys.ENCRYPTION_SECRET)
      },
    },
    life: () => life,
    isUp: () => child !== undefined,
    url: () => `http://127.0.0.1:${port}`,
    loseData: async () => {
      await kill()
      await database[Symbol.asyncDispose]()
      database = await migratedDatabase()
      adminToken = ''
      life += 1
      await settle()
    },
    initiate: (other) => asAdmin('POST /api/federation/peer/initiate', { remoteOrigin: other }),
    recheck: (other) => onPeer(other, 'POST', '/recheck', {}),
    reset: (other) => onPeer(other, 'POST', '/reset', {}),
    forget: async (other) => {
      for (const path of ['', '/permanent']) if ((await onPeer(other, 'DELETE', path)) >= 400) return
    },
    rotate: (other) => onPeer(other, 'POST', '/rotate', {}),
    approveAll: async () => {
      const { body } = await asAdmin('GET /api/federation/approval-requests')
      const { requests = [] } = body as { requests?: { id: string }[] }
      const approve = (id: string) => asAdmin(`POST /api/federation/approval-requests/${id}/approve`, {})
      return (await Promise.all(requests.map(({ id }) => approve(id)))).length
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
