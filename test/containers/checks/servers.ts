import { randomInt } from 'node:crypto'
import { eventually } from '@gatehouse/test-kit'
import { callInstance, evaluate, expectThat, firstOf, processes, type Check, type Scene } from '../scene.ts'
import { startRequests, summarize } from '../load.ts'
import { openSocket, register, uploadPixel, type Account } from './accounts.ts'

const ports = {
  gateway: 9090,
  identity: 8081,
  invite: 8082,
  'session-gateway': 8083,
  'federation-fanout': 8084,
  openid: 8085,
}
const awayMs = 10_000
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const readyProgram = (port: number): string => `console.log((await fetch('http://127.0.0.1:${port}/readyz')).status)`

/** Stops a server for ten seconds; the fallbacks answer meanwhile, and every process stays ready. */
async function withoutServer(scene: Scene, user: Account, server: 'nats' | 'redis'): Promise<string> {
  const container = await firstOf(scene, server)
  const { closed, socket } = await openSocket(scene, user.token)
  const load = startRequests(scene, user)
  await scene.engine.run('stop', '--time', '10', container)
  await wait(awayMs)
  const ready = await Promise.all(
    processes.map(async (service) => evaluate(scene, await firstOf(scene, service), readyProgram(ports[service]))),
  )
  await scene.engine.run('start', container)
  await wait(3_000)
  const { answered, failures } = await load.stop()
  const isOpen = await Promise.race([closed.then(() => false), wait(0).then(() => true)])
  socket.terminate()
  expectThat(
    ready.every((status) => status === '200'),
    `/readyz was ${ready.join(', ')}`,
  )
  expectThat(failures.length === 0, `${summarize(failures)} of ${answered}`)
  expectThat(isOpen, 'the socket was closed')
  return `ten seconds: ${answered} requests, no failure, all ready, the socket stayed`
}

/** An address that no other call has: logins are limited by it. */
const anyAddress = () => ({ 'x-forwarded-for': `198.19.${randomInt(256)}.${randomInt(1, 255)}` })

const logIn = (scene: Scene, { username, password }: Account) =>
  callInstance(scene, 'POST /api/auth/login', { body: { username, password }, headers: anyAddress() })

/** Stops PostgreSQL for ten seconds; the instance is back by itself. */
async function withoutPostgres(scene: Scene, user: Account): Promise<string> {
  const container = await firstOf(scene, 'postgres')
  await scene.engine.run('stop', '--time', '30', container)
  await wait(awayMs)
  const refused = await logIn(scene, user).finally(() => scene.engine.run('start', container))
  const startedAt = performance.now()
  await eventually('logins succeed again', async () => (await logIn(scene, user)).status === 200)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  const hasRetryAfter = refused.headers.has('retry-after')
  expectThat(refused.status === 503 && hasRetryAfter, `a login was answered with ${refused.status}`)
  return `503 with Retry-After meanwhile; logins ${seconds} s after its start`
}

async function restart(scene: Scene, user: Account, service: string): Promise<string> {
  const load = startRequests(scene, user)
  await wait(1_000)
  await scene.engine.run('restart', '--time', '40', await firstOf(scene, service))
  await wait(5_000)
  const { answered, failures } = await load.stop()
  expectThat(failures.length === 0, `${summarize(failures)} of ${answered}`)
  return `${answered} requests, no failure`
}

/** All containers are killed; services come back first, the servers later. */
async function reboot(scene: Scene, user: Account): Promise<string> {
  const servers = ['postgres', 'nats', 'redis']
  const idsOf = async (services: readonly string[]) =>
    (await Promise.all(services.map((service) => scene.project.containers(service)))).flat()
  const [ofServers, ofServices] = [await idsOf(servers), await idsOf(processes)]
  await scene.engine.run('stop', '--time', '0', ...ofServices, ...ofServers)
  await scene.engine.run('start', ...ofServices)
  await wait(8_000)
  await scene.engine.run('start', ...ofServers)
  const startedAt = performance.now()
  await eventually('logins succeed again', async () => (await logIn(scene, user)).status === 200, 120_000)
  return `logins ${((performance.now() - startedAt) / 1000).toFixed(1)} s after the servers' start`
}

export function serverChecks(user: Account): Check[] {
  return [
    { name: 'without Redis', run: (scene) => withoutServer(scene, user, 'redis') },
    { name: 'without NATS', run: (scene) => withoutServer(scene, user, 'nats') },
    { name: 'without PostgreSQL', run: (scene) => withoutPostgres(scene, user) },
    { name: 'restart of one identity under load', run: (scene) => restart(scene, user, 'identity') },
    { name: 'a reboot: services first, servers 8 s later', run: (scene) => reboot(scene, user) },
  ]
}

export function releaseChecks(user: Account): Check[] {
  return [
    {
      name: 'each client has its own limit behind a proxy on this machine',
      async run(scene) {
        const statuses = new Set<number>()
        for (let index = 1; index <= 18; index += 1) {
          const headers = { 'x-forwarded-for': `198.51.100.${index}` }
          const body = { username: user.username, password: 'a wrong password' }
          statuses.add((await callInstance(scene, 'POST /api/auth/login', { body, headers })).status)
        }
        expectThat([...statuses].join() === '401', `they were answered with ${[...statuses].join(', ')}`)
        return '18 wrong logins of 18 addresses: 401 each'
      },
    },
    {
      name: 'an upload survives',
      async run(scene) {
        const url = await uploadPixel(scene, (await register(scene)).token)
        await scene.project.scale('identity', 0)
        await scene.project.scale('identity', 2)
        const isAnswered = async () => (await fetch(url)).status === 200
        await eventually('the upload is answered', isAnswered, 30_000)
        return 'all identity containers were replaced'
      },
    },
    {
      name: 'a new image without an interruption',
      async run(scene) {
        const load = startRequests(scene, user)
        await scene.project.roll()
        const { answered, failures } = await load.stop()
        expectThat(failures.length === 0, `${summarize(failures)} of ${answered}`)
        return `${answered} requests, no failure`
      },
    },
    {
      name: 'a stop in the time that containers are given',
      async run(scene) {
        const stopMs: string[] = []
        for (const service of processes) {
          const container = await firstOf(scene, service)
          const startedAt = performance.now()
          await scene.engine.run('stop', '--time', '40', container)
          stopMs.push(`${service} ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
          const code = await scene.engine.run('inspect', '--format', '{{.State.ExitCode}}', container)
          expectThat(code === '0', `${service} ended with ${code}`)
          await scene.engine.run('start', container)
        }
        return stopMs.join(', ')
      },
    },
  ]
}
