import pg from 'pg'
import type { AwayTimes } from './away-times.ts'
import type { History } from './history.ts'
import type { InstanceClient } from './instance-client.ts'
import { startSocketClient } from './socket-clients.ts'
import type { TestUser } from './users.ts'

/** Of each gateway: they write in turn, and `watcher` hears of it. */
export type ProbeUsers = { watcher: TestUser; writers: TestUser[] }

/** An account may write sixty times a minute. Contract: 1, rate limits. */
export const writersOfGateway = 12
const everyMs = 100
/** While nothing is answered. */
const maxUnderWay = 60

type Scene = { instance: InstanceClient; history: History; times: AwayTimes; databaseUrl: string }

/** Writes, reads and pings through each gateway, ten times a second, whether or not the one before was answered. */
export async function startProbes(scene: Scene, users: readonly ProbeUsers[]): Promise<Disposable> {
  const { instance, databaseUrl } = scene
  await befriend(databaseUrl, users)
  const probes = instance.gateways.flatMap((gateway, index) => startGatewayProbes(scene, gateway, users[index]!))
  return {
    [Symbol.dispose]: () => {
      for (const probe of probes) probe.stop()
    },
  }
}

function startGatewayProbes({ instance, history, times }: Scene, gateway: string, { watcher, writers }: ProbeUsers) {
  let count = 0
  const write = async () => {
    count += 1
    const { token } = writers[count % writers.length]!
    const body = { customStatus: String(count) }
    const answer = await instance.call('PATCH', '/api/users/@me', { token, gateway, body })
    if (answer?.status === 200) times.answered('writes', gateway)
  }
  const read = async () => {
    const answer = await instance.call('GET', '/api/users/@me', { token: watcher.token, gateway })
    if (answer?.status === 200) times.answered('reads', gateway)
  }
  const onMessage = (type: string) => {
    if (type === 'pong') times.answered('sockets', gateway)
    if (type === 'user_updated') times.answered('events', gateway)
  }
  const socket = startSocketClient(instance, history, watcher, { gateway, pingMs: everyMs, onMessage })
  return [repeat(write), repeat(read), socket]
}

function repeat(act: () => Promise<void>): { stop(): void } {
  let underWay = 0
  const timer = setInterval(() => {
    if (underWay >= maxUnderWay) return
    underWay += 1
    void act().finally(() => (underWay -= 1))
  }, everyMs)
  return { stop: () => clearInterval(timer) }
}

/** No call makes friends: that is of an upstream. */
async function befriend(databaseUrl: string, users: readonly ProbeUsers[]): Promise<void> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  for (const { watcher, writers } of users) {
    const ids = writers.map(({ id }) => id)
    await client.query('insert into friendships (user_id, friend_id) select $1::bigint, unnest($2::bigint[])', [
      watcher.id,
      ids,
    ])
  }
  await client.end()
}
