import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCluster, type Cluster } from '../deploy/cluster/cluster.ts'
import { ratioLine, type Line } from './report.ts'
import { measureInRounds, percentile, type Run } from './rounds.ts'
import { openRaw, type RawSocket } from './socket-raw.ts'
import { sessionTarget } from './socket-targets.ts'
import { createUsers } from './socket-users.ts'
import { fillSpace, openBareMembers, openMembers } from './space-members.ts'
import { textFrame } from './text-frame.ts'

const usualRounds = 7
const receivers = 1_000
const nodes = 2
/** As many as a user may send at once. */
export const messagesEachRound = 20
const deliveryLimitMs = 20_000

const upstreamsFile = {
  upstreams: [{ name: 'chat', origins: ['http://127.0.0.1:1'], routes: [], messages: ['chat.'] }],
}

/** A message from one socket, by an upstream, to 1,000 other members of a space on two session gateways. */
export async function benchmark(run: Run): Promise<Line[]> {
  await using opening = new AsyncDisposableStack()
  const environment = { LOG_LEVEL: 'error', GATEHOUSE_UPSTREAMS: await writeUpstreamsFile(opening) }
  const cluster = opening.use(await startCluster({ replicas: { 'session-gateway': nodes }, environment }))
  await startUpstream(opening, cluster)
  const rounds = run.rounds(usualRounds)
  const users = await createUsers(cluster, receivers + rounds + 1)
  const targets = Array.from({ length: nodes }, (_, node) => sessionTarget(cluster, node))
  const others = await openMembers(opening, targets, users.slice(0, receivers))
  await fillSpace(cluster, users)
  const bare = await openBareMembers(opening, nodes, users.slice(0, receivers))

  const send = async (round: number): Promise<number> => {
    const target = targets[round % nodes]!
    const sender = await openRaw(target.url, target.headers(receivers + round), users[receivers + round]!.token)
    const p99 = await measureMessages(others, `ours_${round}`, (text) => void sender.socket.write(textFrame(text)))
    sender.socket.destroy()
    return p99
  }
  const broadcast = (round: number): Promise<number> => measureMessages(bare.sockets, `bare_${round}`, bare.tell)
  const values = await measureInRounds(rounds, { send, broadcast })
  return [
    ratioLine({
      what: `a message from one socket by an upstream to ${receivers} others on ${nodes} session gateways, p99`,
      ours: values.send,
      peer: { name: `two bare ws servers send ${receivers} a text`, values: values.broadcast },
      format: (ms) => `${ms.toFixed(1)} ms`,
      bound: { atMost: 2 },
    }),
  ]
}

/** Its path. */
export async function writeUpstreamsFile(opening: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-live-'))
  opening.defer(() => rm(folder, { recursive: true }))
  const file = join(folder, 'upstreams.json')
  await writeFile(file, JSON.stringify(upstreamsFile))
  return file
}

/** Sends one message after the other, each when all have the one before; gives the p99 of all receipts in ms. */
export async function measureMessages(sockets: readonly RawSocket[], name: string, send: (text: string) => void) {
  const waits: number[] = []
  for (let n = 0; n < messagesEachRound; n += 1) {
    const text = `${name}_${n}.`
    const received = awaitText(sockets, text)
    const startedAt = performance.now()
    send(JSON.stringify({ type: 'chat.text', text }))
    waits.push(...(await received).map((at) => at - startedAt))
  }
  return percentile(waits, 0.99)
}

/** When each of the sockets has got a message with that text. */
async function awaitText(sockets: readonly RawSocket[], text: string): Promise<number[]> {
  const pattern = Buffer.from(text)
  const receipts: number[] = []
  const all = Promise.withResolvers<void>()
  const listeners = sockets.map(({ socket }) => {
    const listener = (data: Buffer): void => {
      if (!data.includes(pattern)) return
      receipts.push(performance.now())
      if (receipts.length === sockets.length) all.resolve()
    }
    socket.on('data', listener)
    return () => void socket.off('data', listener)
  })
  const fail = () => all.reject(new Error(`${sockets.length - receipts.length} receivers did not get ${text}`))
  const timer = setTimeout(fail, deliveryLimitMs)
  await all.promise
  clearTimeout(timer)
  for (const stop of listeners) stop()
  return receipts
}

export async function startUpstream(opening: AsyncDisposableStack, cluster: Cluster): Promise<void> {
  const environment = { ...process.env, NATS_URL: cluster.nats.url }
  const child = fork(new URL('./live-upstream.ts', import.meta.url), { env: environment })
  opening.defer(async () => {
    const exited = once(child, 'exit')
    child.disconnect()
    await exited
  })
  await once(child, 'message')
}
