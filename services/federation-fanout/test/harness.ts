import { once } from 'node:events'
import { createServer, request as sendRequest, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer as readAll } from 'node:stream/consumers'
import { callerHeader } from '@gatehouse/auth'
import { openDatabase } from '@gatehouse/database'
import { parseCidrs } from '@gatehouse/outbound'
import { asOwner, migratedDatabase, openTestResources, signTestCaller, testCallerKeys } from '@gatehouse/test-kit'
import { manualTimer, type MovableClock } from '@gatehouse/test-kit/time'
import { startSealing } from '../src/peers/seal-secrets.ts'
import type { Deps, FederationResources } from '../src/deps.ts'
import { startFederationFanout, type FederationOverrides } from '../src/service.ts'

export type TestAnswer = { status: number; headers: Headers; body: Record<string, unknown>; bytes: Buffer }

export type TestCall = {
  as?: { id: string; username?: string; isAdmin?: boolean }
  /** Sent as JSON; bytes and texts go as they are. */
  body?: object | Buffer | string
  /** An empty content type leaves it out. */
  headers?: Record<string, string>
}

export type TestInstance = AsyncDisposable & {
  /** Where peers find it: `http://a.test:<port>`. */
  origin: string
  host: string
  /** Where its stand-in for the gateway listens. */
  address: string
  deps: Deps
  /** Sends what is due, until nothing is under way. */
  runDue(): Promise<void>
  clock: MovableClock
  databaseUrl: string
  logLines: Record<string, unknown>[]
  call(method: string, path: string, given?: TestCall): Promise<TestAnswer>
  admin(method: string, path: string, body?: object): Promise<TestAnswer>
}

type Options = {
  autoAccept?: boolean
  /** Another replica's, to share its database. */
  databaseUrl?: string
  resources?: Partial<Pick<FederationResources, 'bus' | 'log'>> & { clock?: MovableClock }
  allowPrivate?: string
  overrides?: FederationOverrides
  /** Where peers find it by name; `address` is where it listens. */
  publicOrigin?: string
}

const admin = { id: '1', username: 'admin', isAdmin: true }

/** Host names of test instances; all resolve to this machine. */
const names = ['a', 'b', 'c', 'z', 'slow', 'other'].map((name) => `${name}.test`)
const resolve = Object.fromEntries(names.map((name) => [name, { address: '127.0.0.1' }]))

/** One federation service over a database of its own, reached by peers through a stand-in for the gateway. */
export async function startTestInstance(name: string, options: Options = {}): Promise<TestInstance> {
  await using opening = new AsyncDisposableStack()
  const databaseUrl = options.databaseUrl ?? opening.use(await migratedDatabase()).url
  const orm = opening.adopt(await openDatabase({ url: databaseUrl, connections: 5 }), (open) => open.close())
  if (!options.databaseUrl) await seed(orm, options.autoAccept ?? true)
  const database = { url: databaseUrl, orm }
  const { resources, lines } = opening.use(
    await openTestResources({ ...options.resources, database, connections: 5, service: 'federation-fanout' }),
  )
  const { clock } = resources
  const gateway = opening.use(await startTestGateway())
  const origin = options.publicOrigin ?? `http://${name}.test:${gateway.port}`
  const host = new URL(origin).hostname
  const config = {
    host: '127.0.0.1',
    port: 0,
    drainMs: 1_000,
    callerKeys: testCallerKeys,
    encryptionSecret: 'a secret that encrypts in the tests of federation',
    publicAddress: { origin, domain: host },
    reach: { allowPrivate: parseCidrs(options.allowPrivate ?? 'loopback'), resolve },
  }
  const service = opening.use(
    await startFederationFanout(config, resources, { timer: manualTimer(), ...options.overrides }),
  )
  gateway.route(service.url, () => callerHeaderOf(resources, undefined))
  const call: TestInstance['call'] = async (method, path, given = {}) => {
    const headers = { [callerHeader]: callerHeaderOf(resources, given.as), ...given.headers }
    return await send(`${service.url}${path}`, { method, headers, body: given.body })
  }
  // Tests read and write secrets as the service does.
  await startSealing({ orm, encryptionKey: service.deps.encryptionKey })
  const open = opening.move()
  return {
    origin,
    host,
    address: `http://127.0.0.1:${gateway.port}`,
    deps: asOwner(service.deps, orm),
    runDue: async () => {
      await service.deps.maintenance.runNow()
      await service.deps.background.idle()
    },
    clock,
    databaseUrl,
    logLines: lines,
    call,
    admin: (method, path, body) => call(method, path, { as: admin, ...(body && { body }) }),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

async function seed(orm: FederationResources['orm'], autoAccept: boolean): Promise<void> {
  const em = orm.em.fork()
  await em.execute('update instance_settings set auto_accept_peering = ?, instance_id = gen_random_uuid()', [
    autoAccept,
  ])
  await em.execute("insert into users (id, username, password_hash, is_admin) values (1, 'admin', '!', true)")
}

function callerHeaderOf({ clock }: Pick<FederationResources, 'clock'>, as: TestCall['as']): string {
  const tokenIssuedAt = Math.floor(clock.now() / 1000)
  const account = as
    ? { userId: as.id, username: as.username ?? `user${as.id}`, isAdmin: as.isAdmin ?? false, tokenIssuedAt }
    : null
  return signTestCaller('federation-fanout', { address: '127.0.0.1', account }, clock.now())
}

/** What the gateway does for peers: forwards the bytes unchanged, with a signed caller. */
async function startTestGateway() {
  let target: { url: string; caller(): string } | undefined
  const server: Server = createServer((incoming, response) => {
    const headers = { ...incoming.headers, [callerHeader]: target!.caller() }
    const outgoing = sendRequest(`${target!.url}${incoming.url!}`, { method: incoming.method!, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    incoming.pipe(outgoing)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    route: (url: string, caller: () => string) => (target = { url, caller }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

type Sent = { method: string; headers: Record<string, string>; body?: TestCall['body'] }

/** By node:http, which sends exactly these bytes, also with DELETE. */
async function send(url: string, { method, headers, body }: Sent): Promise<TestAnswer> {
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
  const bytes = body === undefined ? undefined : isRaw ? Buffer.from(body) : Buffer.from(JSON.stringify(body))
  const isChunked = 'transfer-encoding' in headers
  const length = bytes && !isChunked ? { 'content-length': String(bytes.length) } : {}
  const type = bytes && headers['content-type'] !== '' ? { 'content-type': 'application/json' } : {}
  const { 'content-type': wanted, ...others } = headers
  const given = { ...type, ...length, ...others, ...(wanted && { 'content-type': wanted }) }
  const outgoing = sendRequest(url, { method, headers: given })
  outgoing.end(bytes)
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  const received = await readAll(answer)
  return {
    status: answer.statusCode!,
    headers: new Headers(answer.headers as Record<string, string>),
    body: JSON.parse(received.toString()) as Record<string, unknown>,
    bytes: received,
  }
}
