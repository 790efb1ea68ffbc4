import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { callerKeyLines, createTokenKey, verifyToken } from '@gatehouse/auth'
import { eventually } from '@gatehouse/test-kit'
import { WebSocket } from 'ws'
import { callApi } from '../../test/api.ts'
import type { Cluster, ClusterOptions, ClusterProcess } from '../cluster/cluster.ts'
import { roles, type Role } from '../cluster/roles.ts'
import { postJson } from './program.ts'
import { startTestCluster } from './test-cluster.ts'

const former = { jwt: 'the former token secret of this instance', internal: 'the former internal secret of this one' }
const next = { jwt: 'the next token secret of this instance', internal: 'the next internal secret of this instance' }
const account = { username: 'ada', password: 'a long enough password' }
const none = { jwt: '', internal: '' }

/** Signing and previous secrets, as an operator has them in files. */
type Secrets = { current: typeof former; previous: typeof former }

export type Rotation = {
  replicas: NonNullable<ClusterOptions['replicas']>
  /** At the second, the cluster starts as the first leaves it. */
  beginsAt: 'first' | 'second'
  /** What restarts in the second step, and in the last one. */
  secondOf: readonly Role[]
  lastOf: readonly Role[]
}

/** The steps, one test each. */
export function testRotation({ replicas, beginsAt, secondOf, lastOf }: Rotation): void {
  const resources = new AsyncDisposableStack()
  let folder: string
  let cluster: Cluster
  let clients: ReturnType<typeof startClients>
  let formerToken: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-rotation-'))
    resources.defer(() => rm(folder, { recursive: true, force: true }))
    await writeSecrets({ current: former, previous: beginsAt === 'first' ? none : next })
    const fileOf = (name: string) => join(folder, name)
    const started = await startTestCluster({
      replicas,
      environment: {
        JWT_SECRET: '',
        JWT_SECRET_FILE: fileOf('jwt'),
        JWT_SECRET_PREVIOUS_FILE: fileOf('jwt_previous'),
        INTERNAL_SECRET: '',
        INTERNAL_SECRET_FILE: fileOf('internal'),
        INTERNAL_SECRET_PREVIOUS_FILE: fileOf('internal_previous'),
        CALLER_KEYS: '',
        CALLER_KEYS_FILE: fileOf('caller_keys'),
        TRUST_PROXY: 'loopback',
        HASHING_THREADS: '1',
      },
    })
    cluster = resources.use(started)
    formerToken = String((await postJson(`${cluster.gateways[0]}/api/auth/register`, account)).body.token)
    clients = startClients(cluster, formerToken)
    resources.defer(() => clients.stop())
  })
  after(() => resources.disposeAsync())

  if (beginsAt === 'first') {
    it('first step: every process verifies with the new secrets too; nobody is refused', async () => {
      await roll({ current: former, previous: next })

      expect(clients.refusals).to.deep.equal([])
      expect(verifyToken(createTokenKey(former.jwt), await clients.logIn(), Date.now())).to.include({ username: 'ada' })
    })
  }

  it('second step: the new secrets sign, tokens of the old one live on, no request fails, sockets come back', async () => {
    const before = clients.counts()
    await roll({ current: next, previous: former }, secondOf)

    expect(verifyToken(createTokenKey(next.jwt), await clients.logIn(), Date.now())).to.include({ username: 'ada' })
    for (const gateway of cluster.gateways) expect(await statusWith(gateway, formerToken)).to.equal(200)
    await clients.allConnected()
    expect(clients.refusals).to.deep.equal([])
    expect(clients.closeCodes.filter((code) => code >= 4000)).to.deep.equal([])
    expect(clients.counts().reads).to.be.greaterThan(before.reads)
    expect(clients.counts().logins).to.be.greaterThan(before.logins)
  })

  it('last step: a token of the removed secret gets 401, one of the new secret 200', async () => {
    const token = await clients.logIn()
    await clients.stop()
    await roll({ current: next, previous: none }, lastOf)

    for (const gateway of cluster.gateways) {
      expect(await statusWith(gateway, formerToken)).to.equal(401)
      expect(await statusWith(gateway, token)).to.equal(200)
    }
  })

  async function writeSecrets({ current, previous }: Secrets): Promise<void> {
    const contents = { jwt: current.jwt, jwt_previous: previous.jwt, internal: current.internal }
    const internal = [current.internal, previous.internal].filter((secret) => secret !== '')
    const caller_keys = callerKeyLines('gateway', internal).join('\n')
    const files = Object.entries({ ...contents, internal_previous: previous.internal, caller_keys })
    await Promise.all(files.map(([name, text]) => writeFile(join(folder, name), `${text}\n`)))
  }

  /** Restarts processes with these secrets, so that those of before and after run side by side for a while. */
  async function roll(secrets: Secrets, rolled: readonly Role[] = roles): Promise<void> {
    await writeSecrets(secrets)
    for (const index of [0, 1]) {
      const wave = cluster.processes.filter((process) => process.index === index && rolled.includes(process.service))
      await Promise.all(wave.map((process) => clients.awayFrom(process, () => restart(process))))
    }
  }
}

async function restart(process: ClusterProcess): Promise<void> {
  await process.stop()
  await process.start()
}

async function statusWith(gateway: string, token: string): Promise<number> {
  return (await callApi(gateway, 'GET /api/users/@me', { token })).status
}

/**
 * Clients behind a load balancer of their own, which leads nobody to a gateway that restarts: one reads, one signs in and
 * reads with the fresh token at the other gateway, and two hold a socket each.
 */
function startClients(cluster: Cluster, token: string) {
  const serving = new Set(cluster.gateways)
  const refusals: string[] = []
  const closeCodes: number[] = []
  const sockets = new Map<number, WebSocket>()
  const counted = { reads: 0, logins: 0 }
  const underWay = new Map<string, number>()
  let isStopped = false

  async function ask(request: string, options: Parameters<typeof callApi>[2], turn: number) {
    // A service that restarts may leave a 502 or 503, which a client repeats; a refusal of the token is what must not be.
    for (;;) {
      const gateway = [...serving][turn % serving.size]!
      underWay.set(gateway, (underWay.get(gateway) ?? 0) + 1)
      try {
        const answer = await callApi(gateway, request, options)
        if (answer.status < 500) return answer
      } finally {
        underWay.set(gateway, (underWay.get(gateway) ?? 1) - 1)
      }
      await pause(50)
    }
  }

  async function read(bearer: string, turn: number): Promise<void> {
    const { status, body } = await ask('GET /api/users/@me', { token: bearer }, turn)
    if (status === 200) counted.reads += 1
    else refusals.push(`@me: ${status} ${body.error}`)
  }

  async function logIn(turn = 0): Promise<string> {
    const address = `198.51.${100 + (counted.logins % 100)}.${1 + (turn % 250)}`
    const headers = { 'X-Forwarded-For': address }
    const { status, body } = await ask('POST /api/auth/login', { body: account, headers }, turn)
    if (status !== 200) refusals.push(`login: ${status} ${body.error}`)
    counted.logins += 1
    return String(body.token)
  }

  const isOpen = (place: number): boolean => sockets.get(place)?.readyState === WebSocket.OPEN

  function connect(place: number): void {
    const gateway = [...serving][place % serving.size]!
    const socket = new WebSocket(`${gateway.replace('http', 'ws')}/ws`)
    socket.on('error', () => undefined)
    socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token })))
    socket.on('message', (data) => {
      if ((JSON.parse(String(data)) as { type: string }).type === 'ready') sockets.set(place, socket)
    })
    socket.on('close', (code) => {
      sockets.delete(place)
      closeCodes.push(code)
      if (!isStopped) setTimeout(() => connect(place), 100)
    })
  }

  async function repeat(pauseMs: number, action: (turn: number) => Promise<void>): Promise<void> {
    for (let turn = 0; !isStopped; turn += 1) {
      await action(turn)
      await pause(pauseMs)
    }
  }

  const places = [0, 1]
  places.forEach(connect)
  const running = [
    repeat(20, (turn) => read(token, turn)),
    // Hashing without a pause would take a core.
    repeat(200, async (turn) => read(await logIn(turn), turn + 1)),
  ]
  return {
    refusals,
    closeCodes,
    counts: () => ({ ...counted }),
    logIn: () => logIn(),
    /** Leads the clients away from a gateway while `work` restarts it. */
    async awayFrom(process: ClusterProcess, work: () => Promise<void>): Promise<void> {
      if (process.service !== 'gateway') return await work()
      serving.delete(process.url)
      await eventually('its requests are answered', () => (underWay.get(process.url) ?? 0) === 0, 30_000)
      await work()
      serving.add(process.url)
    },
    allConnected: () => eventually('every socket is open', () => places.every(isOpen), 30_000),
    async stop(): Promise<void> {
      isStopped = true
      await Promise.allSettled(running)
      for (const socket of sockets.values()) socket.terminate()
    },
  }
}
