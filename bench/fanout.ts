import { fork } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createLocalBus } from '@gatehouse/bus'
import { systemClock, randomToken, systemRandom } from '@gatehouse/runtime'
import { forgetReplicatedInstances } from '@gatehouse/contracts'
import { openDatabase } from '@gatehouse/database'
import { deleteRemoteIdentities } from '@gatehouse/federation-fanout/fan-out'
import { createOutbound, parseCidrs } from '@gatehouse/outbound'
import { createLog, createMetrics } from '@gatehouse/service-kit'
import { Agent, request } from 'undici'
import { migratedDatabase } from '@gatehouse/test-kit'
import type { Benchmark, Line } from './report.ts'

const peerCount = 200
const rounds = 15
const timeoutMs = 15_000
const path = '/api/federation/identity'
const rosa = '4242'

type FanOut = { run: () => Promise<void> } & AsyncDisposable
type Sides = { ours: FanOut; bare: FanOut }
type Peer = { origin: string; port: number }

/**
 * The fan-out itself, beside bare undici sending as many requests of the same size to the same peers. The API takes at
 * most 100 origins in one request, so the operation behind it is called.
 */
export const benchmark: Benchmark = async () => {
  await using opening = new AsyncDisposableStack()
  const ports = await startPeers(opening)
  const peers = ports.map((port, index): Peer => ({ origin: `http://p${index}.test:${port}`, port }))
  const healthy = peers.slice(0, peerCount)
  const deps = await openDeps(opening, peers)
  const fanOut = (targets: Peer[]) => ourFanOut(deps, targets)
  const kept = { ours: opening.use(fanOut(healthy)), bare: opening.use(bareFanOut(healthy)) }
  const warm = await compare(() => kept)
  const cold = await compare(
    () => ({ ours: fanOut(healthy), bare: bareFanOut(healthy) }),
    async ({ ours, bare }) => {
      await ours[Symbol.asyncDispose]()
      await bare[Symbol.asyncDispose]()
    },
  )
  await using stalled = fanOut(peers.slice(1))
  const stalledMs = await timed(stalled.run)
  return [
    ratioLine('fan-out to 200 healthy peers, new connections', cold),
    ratioLine('the same over kept connections', warm),
    {
      what: 'fan-out to 200 peers, one of them stalled',
      measured: `${(stalledMs / 1000).toFixed(2)} s`,
      peer: `timeout ${timeoutMs / 1000} s`,
      ratio: null,
      limit: '≤ timeout + 0.5 s',
      within: stalledMs <= timeoutMs + 500,
    },
  ]
}

/** Both in turn, so that whatever else the machine does meets both. Medians in milliseconds. */
async function compare(
  open: () => Sides,
  close = async (_sides: Sides) => {},
): Promise<{ ours: number; bare: number }> {
  const times = { ours: [] as number[], bare: [] as number[] }
  for (let round = -2; round < rounds; round += 1) {
    const sides = open()
    for (const side of ['bare', 'ours'] as const) {
      const ms = await timed(sides[side].run)
      if (round >= 0) times[side].push(ms)
    }
    await close(sides)
  }
  return { ours: median(times.ours), bare: median(times.bare) }
}

type Deps = Omit<Parameters<typeof deleteRemoteIdentities>[0], 'outbound'>

function ourFanOut(deps: Deps, peers: Peer[]): FanOut {
  const resolveTable = Object.fromEntries(
    peers.map(({ origin }) => [new URL(origin).hostname, { address: '127.0.0.1' }]),
  )
  const outbound = createOutbound({ allowPrivate: parseCidrs('loopback'), resolve: resolveTable })
  const origins = peers.map(({ origin }) => origin)
  const caller = { userId: rosa, tokenIssuedAt: Math.floor(Date.now() / 1_000) }
  return {
    run: async () => {
      const results = await deleteRemoteIdentities({ ...deps, outbound }, { caller, origins, mode: 'soft' })
      const failed = Object.values(results).filter((result) => !result.success)
      if (Object.keys(results).length !== peers.length || failed.length > 1) throw new Error('The fan-out went wrong')
    },
    [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose](),
  }
}

function bareFanOut(peers: Peer[]): FanOut {
  const agent = new Agent()
  const body = JSON.stringify({ homeUserId: rosa, homeInstance: 'home.test', mode: 'soft' })
  const send = async ({ port }: Peer) => {
    const options = {
      dispatcher: agent,
      method: 'DELETE',
      headers: { 'content-type': 'application/json' },
      body,
    } as const
    const answer = await request(`http://127.0.0.1:${port}${path}`, options)
    await answer.body.json()
  }
  return {
    run: async () => void (await Promise.all(peers.map(send))),
    [Symbol.asyncDispose]: () => agent.close(),
  }
}

async function startPeers(opening: AsyncDisposableStack): Promise<number[]> {
  const child = fork(resolve(import.meta.dirname, 'fanout-peers.ts'), [String(peerCount)])
  opening.defer(() => void child.kill())
  const [ports] = (await once(child, 'message')) as [number[]]
  return ports
}

/** What the service has, with a log that is written and thrown away. */
async function openDeps(opening: AsyncDisposableStack, peers: Peer[]): Promise<Deps> {
  const database = opening.use(await migratedDatabase())
  const orm = opening.adopt(await openDatabase({ url: database.url }), (open) => open.close())
  const em = orm.em.fork()
  await em.execute("insert into users (id, username, password_hash) values (?, 'rosa', '!')", [rosa])
  for (const { origin } of peers) {
    const values = [origin, new URL(origin).hostname, randomToken(systemRandom, 32)]
    await em.execute(
      "insert into peers (id, origin, host, secret, status) values (next_snowflake(), ?, ?, ?, 'active')",
      values,
    )
  }
  const log = createLog({ level: 'info', service: 'bench', destination: { write: () => undefined } })
  const bus = opening.use(createLocalBus({ log }))
  await bus.respond(forgetReplicatedInstances, async () => ({}))
  const publicAddress = { origin: 'http://home.test', domain: 'home.test' }
  const config = { publicAddress, reach: { allowPrivate: [], resolve: {} } }
  return { orm, bus, log, config, metrics: createMetrics(), clock: systemClock, random: systemRandom }
}

function ratioLine(what: string, { ours, bare }: { ours: number; bare: number }): Line {
  const ratio = ours / bare
  const [measured, peer] = [`${ours.toFixed(1)} ms`, `bare undici ${bare.toFixed(1)} ms`]
  return { what, measured, peer, ratio, limit: '≤ 2', within: ratio <= 2 }
}

async function timed(run: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await run()
  return performance.now() - startedAt
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}
