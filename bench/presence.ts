import { presenceRecorded } from '@gatehouse/contracts'
import { connect as connectNats } from 'nats'
import { startCluster, type Cluster } from '../deploy/cluster/cluster.ts'
import { absoluteLine, ratioLine, type Line } from './report.ts'
import { measureInRounds, median, type Run } from './rounds.ts'
import { openRaw, type RawSocket } from './socket-raw.ts'
import { sessionTarget } from './socket-targets.ts'
import { createUsers } from './socket-users.ts'
import { fillSpace, openBareMembers, openMembers } from './space-members.ts'

const usualRounds = 10
const presentMembers = 10_000
/** Half of them: all would be more than the file descriptors that one process may have by default. */
const bareSockets = 5_000
const nodes = 2
const deliveryLimitMs = 20_000

/** A member of a space comes online: until the last of its present members has the message. Design: budgets. */
export async function benchmark(run: Run): Promise<Line[]> {
  const rounds = run.rounds(usualRounds)
  await using opening = new AsyncDisposableStack()
  const environment = { LOG_LEVEL: 'error' }
  const cluster = opening.use(await startCluster({ replicas: { 'session-gateway': nodes }, environment }))
  const users = await createUsers(cluster, presentMembers + rounds + 1)
  const targets = Array.from({ length: nodes }, (_, node) => sessionTarget(cluster, node))
  const ours = watchDeliveries(await openMembers(opening, targets, users.slice(0, presentMembers)))
  // Only now: each arrival before would have been told to all others.
  await fillSpace(cluster, users)
  const bareMembers = await openBareMembers(opening, nodes, users.slice(0, bareSockets))
  const bare = watchDeliveries(bareMembers.sockets)
  const bus = await watchBus(opening, cluster)

  const arrive = async (round: number): Promise<Arrival> => {
    const user = users[presentMembers + round]!
    const target = targets[round % nodes]!
    const delivered = ours.until(user.id)
    const startedAt = performance.now()
    const { socket } = await openRaw(target.url, target.headers(presentMembers + round), user.token)
    opening.defer(() => void socket.destroy())
    const lastAt = await delivered
    const messages = bus.since(startedAt)
    return { wholeMs: lastAt - startedAt, ms: lastAt - messages[0]!.at, messages: messages.length }
  }
  const broadcast = async (round: number): Promise<Arrival> => {
    const delivered = bare.until(`bare_${round}`)
    const startedAt = performance.now()
    bareMembers.tell(JSON.stringify({ type: 'presence_update', userId: `bare_${round}`, status: 'online' }))
    const ms = (await delivered) - startedAt
    return { wholeMs: ms, ms, messages: 0 }
  }
  return linesOf(await measureInRounds(rounds, { broadcast, arrive }))
}

type Arrival = { wholeMs: number; ms: number; messages: number }

function linesOf({ arrive, broadcast }: Record<'arrive' | 'broadcast', Arrival[]>): Line[] {
  const milliseconds = (value: number): string => `${value.toFixed(0)} ms`
  const bareMs = median(broadcast.map(({ ms }) => ms))
  const what = `a member of a space comes online, told to ${presentMembers} others on ${nodes} nodes: the last one`
  const peer = `bare ws sends ${bareSockets} a text in ${milliseconds(bareMs)}`
  return [
    absoluteLine({
      what: `${what}, after the message on the bus`,
      values: arrive.map(({ ms }) => ms),
      peer,
      format: milliseconds,
      bound: { atMost: 200 },
    }),
    absoluteLine({
      what: 'messages on the bus for it',
      values: arrive.map(({ messages }) => messages),
      judge: (values) => Math.max(...values),
      peer: `${nodes} nodes`,
      format: String,
      bound: { atMost: nodes },
    }),
    ratioLine({
      what: `${what}, after the member connected`,
      ours: arrive.map(({ wholeMs }) => wholeMs),
      peer: { name: `bare ws, ${bareSockets}`, values: broadcast.map(({ ms }) => ms) },
      format: milliseconds,
      bound: null,
    }),
  ]
}

/** Tells when every one of the sockets has got a message with that text, as the time of the last one. */
function watchDeliveries(sockets: readonly RawSocket[]) {
  let awaited = Buffer.alloc(0)
  let remainingCount = 0
  let finish: (at: number) => void = () => undefined
  for (const { socket } of sockets) {
    socket.on('data', (data: Buffer) => {
      if (remainingCount === 0 || !data.includes(awaited)) return
      remainingCount -= 1
      if (remainingCount === 0) finish(performance.now())
    })
  }
  const until = (text: string): Promise<number> => {
    awaited = Buffer.from(text)
    remainingCount = sockets.length
    return new Promise((resolve, reject) => {
      const fail = () => reject(new Error(`${remainingCount} of ${sockets.length} members were not told`))
      const timer = setTimeout(fail, deliveryLimitMs)
      finish = (at) => {
        clearTimeout(timer)
        resolve(at)
      }
    })
  }
  return { until }
}

/** When the bus carried a message that presences have changed. */
async function watchBus(opening: AsyncDisposableStack, cluster: Cluster) {
  const bus = opening.adopt(await connectNats({ servers: cluster.nats.url }), (open) => open.close())
  const records: { at: number }[] = []
  const callback = (_: unknown, message: { subject: string }) => {
    if (message.subject.endsWith(presenceRecorded.subject)) records.push({ at: performance.now() })
  }
  bus.subscribe('>', { callback })
  await bus.flush()
  return { since: (startedAt: number) => records.filter(({ at }) => at >= startedAt) }
}
