import { eventually } from '@gatehouse/test-kit'
import { callInstance, expectThat, readMetric, type Check, type Scene } from '../scene.ts'
import { startRequests, summarize } from '../load.ts'
import { openSocket, type Account } from './accounts.ts'

const settleMs = 10_000
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const requestsOf = (scene: Scene, container: string): Promise<number> =>
  readMetric(scene, container, 8081, /^gatehouse_http_request_seconds_count/)
const socketsOf = (scene: Scene, container: string): Promise<number> =>
  readMetric(scene, container, 8083, /^gatehouse_sockets_authenticated/)

async function readEach(scene: Scene, service: string, read: typeof requestsOf): Promise<number[]> {
  return await Promise.all((await scene.project.containers(service)).map((container) => read(scene, container)))
}

/** How many requests each identity answered while this many were sent. */
async function spread(scene: Scene, user: Account, count: number): Promise<number[]> {
  const before = await readEach(scene, 'identity', requestsOf)
  await Promise.all(
    Array.from({ length: count }, () => callInstance(scene, 'GET /api/users/@me', { token: user.token })),
  )
  const after = await readEach(scene, 'identity', requestsOf)
  return after.map((requests, index) => requests - before[index]!)
}

/** Kills one container of a service while requests are under way; its restart policy brings it back. */
async function killUnderLoad(scene: Scene, user: Account, service: string): Promise<string> {
  const load = startRequests(scene, user)
  await wait(1_000)
  const containers = await scene.project.containers(service)
  // Not by the engine, for which that would be a stop that was asked for.
  process.kill(Number(await scene.engine.run('inspect', '--format', '{{.State.Pid}}', containers[0]!)), 'SIGKILL')
  await wait(5_000)
  const isBack = async () => (await scene.project.containers(service)).length === containers.length
  await eventually(`${service} is back by itself`, isBack, 30_000)
  const { answered, failures } = await load.stop()
  // A login is not repeated: whether the killed process had carried it out is unknown.
  const others = failures.filter((failure) => !failure.startsWith('login 502'))
  expectThat(others.length === 0, `${summarize(failures)} of ${answered}`)
  return `${answered} requests, ${summarize(failures)}`
}

export function replicaChecks(user: Account): Check[] {
  return [
    {
      name: 'requests reach all replicas of one name',
      async run(scene) {
        const counts = await spread(scene, user, 60)
        expectThat(counts.length === 2 && Math.min(...counts) >= 10, `60 requests went ${counts.join(' and ')}`)
        return `60 requests went ${counts.join(' and ')}`
      },
    },
    {
      name: 'sockets reach all replicas of one name',
      async run(scene) {
        const sockets = await Promise.all(Array.from({ length: 16 }, () => openSocket(scene, user.token)))
        const counts = await readEach(scene, 'session-gateway', socketsOf)
        for (const { socket } of sockets) socket.terminate()
        expectThat(counts.length === 2 && Math.min(...counts) >= 3, `16 sockets went ${counts.join(' and ')}`)
        return `16 sockets went ${counts.join(' and ')}`
      },
    },
    {
      name: 'identity 2 -> 3 -> 2 under load',
      async run(scene) {
        const load = startRequests(scene, user)
        await scene.project.scale('identity', 3)
        await wait(settleMs)
        const counts = await spread(scene, user, 90)
        await scene.project.scale('identity', 2)
        await wait(settleMs)
        const { answered, failures } = await load.stop()
        expectThat(Math.min(...counts) >= 10, `the three answered ${counts.join(', ')} requests`)
        expectThat(failures.length === 0, `${summarize(failures)} of ${answered}`)
        return `the new one takes part (${counts.join(', ')}); ${answered} requests, no failure`
      },
    },
    ...['identity', 'invite', 'federation-fanout', 'openid', 'session-gateway'].map((service) => ({
      name: `kill -9 of one ${service} under load`,
      run: (scene: Scene) => killUnderLoad(scene, user, service),
    })),
  ]
}
