import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { systemClock, randomToken, systemRandom } from '@gatehouse/runtime'
import { openDatabase } from '@gatehouse/database'
import { deleteAtPeers } from '@gatehouse/federation-fanout/fan-out'
import { createOutbound, parseCidrs } from '@gatehouse/outbound'
import { createLog, createMetrics } from '@gatehouse/service-kit'
import { Agent, request } from 'undici'
import { migratedDatabase } from '@gatehouse/test-kit'
import { absoluteLine, ratioLine, type Benchmark, type Line } from './report.ts'
import { measureInRounds, timeOf } from './rounds.ts'

export const peerCount = 200
const usualRounds = 15
const timeoutMs = 15_000
const path = '/api/federation/identity'
const rosa = '4242'

export type FanOut = { run: () => Promise<void> } & AsyncDisposable
type Times = { ours: number[]; bare: number[] }
export type Peer = { origin: string; port: number }

/**
 * The fan-out itself, beside bare undici sending as many requests of the same size to the same peers. The API takes at
 * most 100 origins in one request, so the operation behind it is called. Connections are new on both sides: undici keeps none
 * after a DELETE with a body.
 */
export const benchmark: Benchmark = async (run) => {
  await using opening = new AsyncDisposableStack()
  const peers = await startPeers(opening)
  const healthy = peers.slice(0, peerCount)
  const deps = await openDeps(opening, peers)
  const times = await measureInRounds(run.rounds(usualRounds), {
    bare: () => measureOnce(bareFanOut(healthy, deletion)),
    ours: () => measureOnce(ourFanOut(deps, healthy)),
  })
  return [lineOf(times), await measureStalled(ourFanOut(deps, peers.slice(1)))]
}

async function measureOnce(opened: FanOut): Promise<number> {
  await using fanOut = opened
  return await timeOf(fanOut.run)
}

async function measureStalled(opened: FanOut): Promise<Line> {
  const seconds = (await measureOnce(opened)) / 1000
  return absoluteLine({
    what: 'fan-out to 200 peers, one of them stalled',
    values: [seconds],
    peer: `timeout ${timeoutMs / 1000} s`,
    format: (value) => `${value.toFixed(2)} s`,
    bound: { atMost: timeoutMs / 1000 + 0.5 },
  })
}

type Deps = Omit<Parameters<typeof deleteAtPeers>[0], 'outbound'>

/** Each peer has a name, which leads to this machine. */
export function openOutbound(peers: readonly Peer[]) {
  const resolve = Object.fromEntries(peers.map(({ origin }) => [new URL(origin).hostname, { address: '127.0.0.1' }]))
  return createOutbound({ allowPrivate: parseCidrs('loopback'), resolve })
}

function ourFanOut(deps: Deps, peers: Peer[]): FanOut {
  const outbound = openOutbound(peers)
  const origins = peers.map(({ origin }) => origin)
  return {
    run: async () => {
      const results = await deleteAtPeers({ ...deps, outbound }, { userId: rosa, origins, mode: 'soft' })
      const failed = results.filter(({ result }) => !result.success)
      if (results.length !== peers.length || failed.length > 1) throw new Error('The fan-out went wrong')
    },
    [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose](),
  }
}

const deletion = {
  method: 'DELETE',
  path,
  body: { homeUserId: rosa, homeInstance: 'home.test', mode: 'soft' },
} as const

type Request = { method: 'DELETE' | 'POST'; path: string; body: object }

export function bareFanOut(peers: readonly Peer[], { method, path, body: content }: Request): FanOut {
  const agent = new Agent()
  const body = JSON.stringify(content)
  const send = async ({ port }: Peer) => {
    const options = {
      dispatcher: agent,
      method,
      headers: { 'content-type': 'application/json' },
      body,
    } as const
    const answer = await request(`http://127.0.0.1:${port}${path}`, options)
    await answer.body.json()
  }
  return { run: async () => void (await Promise.all(peers.map(send))), [Symbol.asyncDispose]: () => agent.close() }
}

/** The last one, beyond `peerCount`, never answers. */
export async function startPeers(opening: AsyncDisposableStack): Promise<Peer[]> {
  const child = fork(join(import.meta.dirname, 'fanout-peers.ts'), [String(peerCount)])
  opening.defer(() => void child.kill())
  const [ports] = (await once(child, 'message')) as [number[]]
  return ports.map((port, index) => ({ origin: `http://p${index}.test:${port}`, port }))
}

/** What the service has, with a log that is written and thrown away. */
export async function openDeps(opening: AsyncDisposableStack, peers: readonly Peer[]): Promise<Deps> {
  const database = opening.use(await migratedDatabase())
  const orm = opening.adopt(await openDatabase({ url: database.url }), (open) => open.close())
  const em = orm.em.fork()
  for (const { origin } of peers) {
    const values = [origin, new URL(origin).hostname, randomToken(systemRandom, 32)]
    await em.execute(
      "insert into peers (id, origin, host, secret, status) values (next_snowflake(), ?, ?, ?, 'active')",
      values,
    )
  }
  const log = createLog({ level: 'info', service: 'bench', destination: { write: () => undefined } })
  const publicAddress = { origin: 'http://home.test', domain: 'home.test' }
  const config = { publicAddress, reach: { allowPrivate: [], resolve: {} } }
  return { orm, log, config, metrics: createMetrics(), clock: systemClock, random: systemRandom }
}

function lineOf({ ours, bare }: Times): Line {
  const what = `fan-out to ${peerCount} healthy peers`
  const peer = { name: 'bare undici', values: bare }
  return ratioLine({ what, ours, peer, format: (ms) => `${ms.toFixed(1)} ms`, bound: { atMost: 1.5 } })
}
