import { closures } from '@gatehouse/contracts'
import type { Cluster } from '../deploy/cluster/cluster.ts'
import { absoluteLine, type Line } from './report.ts'
import { median, type Run } from './rounds.ts'
import { openRaw, type RawSocket } from './socket-raw.ts'
import type { SocketTarget } from './socket-pool.ts'
import { sessionTarget } from './socket-targets.ts'
import type { BenchUser } from './socket-users.ts'

const usualRounds = 10
const usersReset = 20
/** As many as one account may have on a node. */
const socketsOnNode = 50

type Bench = { cluster: Cluster; users: readonly BenchUser[] }

/** From the moment the admin has the answer until the last of a user's sockets on two nodes is closed: the worst of each round. */
export async function measureReset(run: Run, { cluster, users: [admin, ...others] }: Bench): Promise<Line> {
  const worst: number[] = []
  const all: number[] = []
  for (let round = 0; round < run.rounds(usualRounds); round += 1) {
    const waits: number[] = []
    const first = (round * usersReset) % (others.length - usersReset)
    for (const user of others.slice(first, first + usersReset)) waits.push(await resetOne(cluster, admin!, user))
    worst.push(Math.max(...waits))
    all.push(...waits)
  }
  return absoluteLine({
    what: `reset of ${usersReset} users with ${socketsOnNode} sockets on each of two session gateways: the last is closed, worst of all rounds`,
    values: worst,
    judge: (values) => Math.max(...values),
    peer: `median of ${all.length} resets ${median(all).toFixed(0)} ms`,
    format: (ms) => `${ms.toFixed(0)} ms`,
    bound: { atMost: 50 },
  })
}

async function resetOne(cluster: Cluster, admin: BenchUser, user: BenchUser): Promise<number> {
  const sockets = await Promise.all([0, 1].map((node) => openRawSockets(sessionTarget(cluster, node), user.token)))
  const closes = sockets.flat().map(({ closed }) => closed)
  const answer = await fetch(`${cluster.gateways[0]}/api/admin/users/${user.id}/reset-password`, {
    method: 'POST',
    headers: { authorization: `Bearer ${admin.token}` },
  })
  const answeredAt = performance.now()
  if (!answer.ok) throw new Error(`the reset answered ${answer.status}: ${await answer.text()}`)
  const closings = await Promise.all(closes)
  if (closings.some(({ code }) => code !== closures.passwordReset.code)) throw new Error('closed for another reason')
  return Math.max(...closings.map(({ at }) => at)) - answeredAt
}

async function openRawSockets(target: SocketTarget, token: string): Promise<RawSocket[]> {
  const places = Array.from({ length: socketsOnNode }, (_, place) => place)
  return await Promise.all(places.map((place) => openRaw(target.url, target.headers(place), token)))
}
