import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  answered,
  eventually,
  freePort,
  runData,
  startEphemeralPostgres,
  startIdentityProvider,
  startSmtpServer,
} from '@gatehouse/test-kit'
import { connectUpstream, type EventName } from '@gatehouse/upstream'
import type { Cluster, Role } from '../../deploy/cluster/cluster.ts'
import { postgresSettings } from '../../deploy/cluster/cluster.ts'
import { startProgram } from '../../deploy/test/program.ts'
import { query } from '../../deploy/test/query.ts'
import { startTestCluster } from '../../deploy/test/test-cluster.ts'
import { callApi } from '../api.ts'
import type { Ledger } from './ledger.ts'

export type System = Awaited<ReturnType<typeof startSystem>>
export type Replicas = Partial<Record<Role, number>>

const host = 'home.test'
const peerHost = 'peer.test'
/** Each has one account as its subject. */
export const toldEvents = [
  'UserCreated',
  'PasswordChanged',
  'SessionsEnded',
  'UserDeleted',
] as const satisfies EventName[]
const callback = 'http://127.0.0.1:1/callback'
const peeringLimitMs = 60_000

/** A cluster, another instance that is its peer, and what both talk to: mail, a provider, an application, an upstream. */
export async function startSystem({ replicas, ledger }: { replicas: Replicas; ledger: Ledger }) {
  await using opening = new AsyncDisposableStack()
  const folder = opening.adopt(await mkdtemp(join(tmpdir(), 'gatehouse-soak-')), (path) =>
    rm(path, { recursive: true }),
  )
  const mail = opening.use(await startSmtpServer())
  const provider = opening.use(await startIdentityProvider({ accounts: [] }))
  const files = await writeFiles(folder, provider)
  const logoutUri = await receiveLogouts(opening, ledger)
  const postgres = opening.use(await startEphemeralPostgres({ settings: postgresSettings, copyOf: await runData() }))
  const peerDatabase = await copyDatabase(postgres.url)
  const [gatewayPort, peerPort] = [await freePorts(replicas.gateway ?? 1), await freePort()]
  const [origin, peerOrigin] = [`http://${host}:${gatewayPort}`, `http://${peerHost}:${peerPort}`]
  const federated = {
    TRUST_PROXY: 'loopback',
    LOG_LEVEL: 'warn',
    FEDERATION_ALLOW_PRIVATE: 'loopback',
    FEDERATION_RESOLVE: `${host}=127.0.0.1:${gatewayPort},${peerHost}=127.0.0.1:${peerPort}`,
  }
  const cluster = opening.use(
    await startTestCluster({
      replicas,
      gatewayPort,
      servers: { postgres },
      environment: {
        ...federated,
        PUBLIC_ORIGIN: origin,
        DOMAIN: host,
        UPLOAD_DIR: join(folder, 'uploads'),
        GATEHOUSE_PROVIDERS: files.providers,
        GATEHOUSE_UPSTREAMS: files.upstreams,
        // Ten times what the run sends.
        SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
        MAIL_FROM: 'noreply@home.test',
        MAIL_HOURLY_LIMIT: '10000',
      },
    }),
  )
  const peer = opening.use(
    startProgram('test/soak/peer-process.ts', {
      ...federated,
      DATABASE: peerDatabase,
      PUBLIC_ORIGIN: peerOrigin,
      DOMAIN: peerHost,
      HOST: '127.0.0.1',
      PORT: String(peerPort),
      OPS_PORT: '0',
      GATEHOUSE_DATA: join(folder, 'peer'),
    }),
  )
  const [, peerOps = ''] = /operations (\S+)/.exec(await peer.waitForOutput(/operations \S+/)) ?? []
  await hearEvents(opening, cluster, ledger)
  const peerUrl = `http://127.0.0.1:${peerPort}`
  const { admin, application } = await prepare({ cluster, peerUrl, peerOrigin, logoutUri })
  const open = opening.move()
  return {
    cluster,
    admin,
    application,
    mail,
    provider,
    origin,
    host,
    callback,
    uploads: join(folder, 'uploads'),
    peer: { url: peerUrl, origin: peerOrigin, pid: peer.pid, opsUrl: peerOps, databaseUrl: peerDatabase },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** So that the replicas of the gateway, whose ports follow each other, find theirs. */
async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = await freePort()
    const servers = Array.from({ length: count }, (_, index) => createServer().listen(first + index, '127.0.0.1'))
    const opened = await Promise.allSettled(servers.map((server) => once(server, 'listening')))
    for (const server of servers) server.close()
    if (opened.every(({ status }) => status === 'fulfilled')) return first
  }
}

async function writeFiles(folder: string, provider: { issuer: string; clientId: string; clientSecret: string }) {
  const { issuer, clientId, clientSecret } = provider
  const entry = { id: 'school', name: 'School', registration: 'open', issuer, clientId, clientSecret }
  const chat = { name: 'chat', origins: ['http://127.0.0.1:9'], routes: [], messages: ['chat.'], events: toldEvents }
  const files = { providers: join(folder, 'providers.json'), upstreams: join(folder, 'upstreams.json') }
  await writeFile(files.providers, JSON.stringify({ providers: [entry] }))
  await writeFile(files.upstreams, JSON.stringify({ upstreams: [chat] }))
  return files
}

/** The back channel of the application. */
async function receiveLogouts(opening: AsyncDisposableStack, ledger: Ledger): Promise<string> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const [, payload = ''] = (new URLSearchParams(body).get('logout_token') ?? '').split('.')
      const { sub } = JSON.parse(Buffer.from(payload, 'base64url').toString() || '{}') as { sub?: string }
      ledger.arrive('logout at the application', sub ?? '')
      response.writeHead(200).end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  opening.defer(() => (server.closeAllConnections(), void server.close()))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/logout`
}

/** On the same server, with an identity of its own. */
async function copyDatabase(url: string): Promise<string> {
  const copy = new URL(url)
  copy.pathname = '/soak_peer'
  const server = new URL(url)
  server.pathname = '/template1'
  await query(server.href, `create database soak_peer template ${new URL(url).pathname.slice(1)}`)
  await query(copy.href, 'update instance_settings set instance_id = gen_random_uuid()')
  return copy.href
}

/** As an upstream, which also answers messages of sockets. */
async function hearEvents(opening: AsyncDisposableStack, cluster: Cluster, ledger: Ledger): Promise<void> {
  const onError = (error: unknown) => ledger.violation(`the upstream: ${String(error)}`)
  const chat = opening.use(await connectUpstream({ natsUrl: cluster.nats.url, name: 'chat', onError }))
  chat.onMessage(({ message }) => ({ ok: true, n: message.n }))
  chat.onEvent([...toldEvents], ({ name, payload }) => ledger.arrive(name, String(payload.userId)))
}

type Prepared = { cluster: Cluster; peerUrl: string; peerOrigin: string; logoutUri: string }

async function prepare({ cluster, peerUrl, peerOrigin, logoutUri }: Prepared) {
  const [url] = cluster.gateways as [string]
  const body = { username: 'admin', password: 'the password of the admin' }
  const register = async (at: string) => (await answered(callApi(at, 'POST /api/auth/register', { body }))).body
  const [own, others] = [await register(url), await register(peerUrl)]
  const token = own.token!
  const settings = { openidEnabled: true, autoAcceptPeering: true, approvalRequired: true }
  await answered(callApi(url, 'PATCH /api/settings/instance', { token, body: settings }))
  const peerSettings = { token: others.token, body: { autoAcceptPeering: true } }
  await answered(callApi(peerUrl, 'PATCH /api/settings/instance', peerSettings))
  const application = {
    name: 'Wiki',
    type: 'confidential',
    redirectUris: [callback],
    backchannelLogoutUri: logoutUri,
  }
  const reply = await answered(callApi(url, 'POST /api/admin/applications', { token, body: application }))
  await answered(callApi(url, 'POST /api/federation/peer/initiate', { token, body: { remoteOrigin: peerOrigin } }))
  const statusesAt = async (at: string, as: string | undefined) => {
    const { peers } = (await callApi(at, 'GET /api/federation/peers', { token: as })).body
    return (peers as { status: string }[]).map(({ status }) => status)
  }
  await eventually(
    'the instances are peers',
    async () =>
      [...(await statusesAt(url, token)), ...(await statusesAt(peerUrl, others.token))].join() === 'active,active',
    peeringLimitMs,
  )
  const { id } = reply.body.application as { id: string }
  return {
    admin: { token, id: (own.user as { id: string }).id },
    application: { id, secret: String(reply.body.clientSecret) },
  }
}
