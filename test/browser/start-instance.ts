import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectDatabase } from '@gatehouse/database'
import { answered, capturedLog, freePort, migratedDatabase } from '@gatehouse/test-kit'
import { ensureWebBuilt } from '../../tools/setup/build-web.js'
import { dataFolder } from '../../tools/setup/project.js'
import { readConfig } from '../../deploy/embedded/config.ts'
import { startEmbedded } from '../../deploy/embedded/embedded.ts'
import { quickHashing } from '../../deploy/test-programs/quick-hashing.ts'

export type Instance = AsyncDisposable & {
  origin: string
  host: string
  port: number
  /** Ends its services, and starts them again on the same data. */
  stop: () => Promise<void>
  start: () => Promise<void>
  /** Runs a statement in the instance's database, for what no endpoint can set up. */
  runSql: (sql: string, values?: unknown[]) => Promise<unknown>
  /** Makes two users friends, as the friend service of the chat system would. */
  addFriendship: (one: string, other: string) => Promise<void>
  /** Whether pages of it send requests to another. */
  hasPeers: boolean
}

/** Browsers resolve every name below `localhost` to this machine, so that each instance can have its own host. */
export const hostOf = (name: string) => `${name}.localhost`

let shared: Promise<Instance> | undefined

/**
 * The instance of the files that change none of its settings and judge none of its lists: one for each test process, which
 * ends it. Its first account, the admin that every instance has, is that of no file.
 */
export function sharedInstance(): Promise<Instance> {
  shared ??= startShared()
  return shared
}

async function startShared(): Promise<Instance> {
  const instance = await startInstance('shared')
  process.once('disconnect', () => void instance[Symbol.asyncDispose]())
  await answered(postJson(instance, '/api/auth/register', { username: 'first', password: 'a long password' }))
  return instance
}

/** Starts two instances, each of which resolves the name of the other; they stop with `resources`. `providers`: of the first. */
export async function startPair(
  resources: AsyncDisposableStack,
  [name, other]: readonly [string, string],
  providers?: object[],
): Promise<[Instance, Instance]> {
  const [port, otherPort] = [await freePort(), await freePort()]
  return [
    resources.use(await startInstance(name, { port, peers: { [other]: otherPort }, ...(providers && { providers }) })),
    resources.use(await startInstance(other, { port: otherPort, peers: { [name]: port } })),
  ]
}

type Options = {
  port?: number
  peers?: Record<string, number>
  natsUrl?: string
  providers?: object[]
  /** Where its mail goes. */
  smtpUrl?: string
}

/**
 * Starts an instance with its web app and its own database. `peers`: the ports of the instances it can resolve. `providers`:
 * entries of the file of identity providers.
 */
export async function startInstance(name: string, options: Options = {}) {
  await using starting = new AsyncDisposableStack()
  await ensureWebBuilt()
  const database = starting.use(await migratedDatabase())
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-browser-'))
  starting.defer(() => rm(folder, { recursive: true, force: true }))
  const port = options.port ?? (await freePort())
  const host = hostOf(name)
  const peers = Object.entries(options.peers ?? {})
  const providers = options.providers && join(folder, 'providers.json')
  if (providers) await writeFile(providers, JSON.stringify({ providers: options.providers }))
  const config = readConfig({
    PORT: String(port),
    PUBLIC_ORIGIN: `http://${host}:${port}`,
    GATEHOUSE_DATA: folder,
    TRUST_PROXY: 'loopback',
    WEB_ROOT: join(dataFolder(), 'web'),
    ...(options.natsUrl && { NATS_URL: options.natsUrl }),
    ...(providers && { GATEHOUSE_PROVIDERS: providers }),
    ...(options.smtpUrl && { SMTP_URL: options.smtpUrl, MAIL_FROM: `Gatehouse <gatehouse@${host}>` }),
    FEDERATION_ALLOW_PRIVATE: '127.0.0.0/8',
    FEDERATION_RESOLVE: peers.map(([peer, at]) => `${hostOf(peer)}=127.0.0.1:${at}`).join(','),
  })
  const startProcess = () => startEmbedded(quickHashing(config), database.url, { log: capturedLog().log })
  let running: AsyncDisposable | null = await startProcess()
  const stop = async () => {
    await running?.[Symbol.asyncDispose]()
    running = null
  }
  starting.defer(stop)
  const owner = starting.adopt(await connectDatabase({ url: database.url, connections: 1 }), (orm) => orm.close(true))
  const runSql = (sql: string, values: unknown[] = []) => owner.em.fork().getConnection().execute(sql, values)
  // Test databases are copies of one template, and with it of one instanceId.
  await runSql('update instance_settings set instance_id = gen_random_uuid()')
  const addFriendship = async (one: string, other: string) => {
    const sql = `insert into friendships (user_id, friend_id)
      select a.id, b.id from users a, users b where a.username = ? and b.username = ?`
    await runSql(sql, [one, other])
  }
  const stack = starting.move()
  const instance: Instance = {
    origin: `http://${host}:${port}`,
    host,
    port,
    stop,
    start: async () => void (running ??= await startProcess()),
    runSql,
    addFriendship,
    hasPeers: peers.length > 0,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
  return instance
}

let addresses = 0

/** An address that no other caller has: limits of a network, such as that of logins, count for it alone. */
export function newAddress(): string {
  addresses += 1
  return `10.1.${addresses >> 8}.${addresses & 255}`
}

/** Sends a request to an instance without the browser, by default from an address of its own, to set up what a test needs. */
export async function postJson(
  instance: Instance,
  path: string,
  body: object,
  token?: string,
  address = newAddress(),
): Promise<Response> {
  return fetch(`http://127.0.0.1:${instance.port}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      'x-forwarded-for': address,
    },
    body: JSON.stringify(body),
  })
}
