import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { limits } from '@gatehouse/contracts'
import { connectDatabase } from '@gatehouse/database'
import type { Cluster } from '../deploy/cluster/cluster.ts'
import { ratioLine, type Line } from './report.ts'
import { measureInRounds, type Run } from './rounds.ts'
import { closeSocketPool, openSocketPool, socketIo, type SocketTarget } from './socket-pool.ts'
import { gatewayTarget, sessionTarget, startPeer, type PeerProcess } from './socket-targets.ts'
import { befriendAll, type BenchUser } from './socket-users.ts'

const usualRounds = 5
/** Of the line for information. */
const notifiedRounds = 3
const perRound = 2_500
/** V8 is still compiling while a fresh process takes its first thousands: pools of the round that is not counted. */
const warmUpPools = 3
/** Then the users of the round before are offline, and recording that falls into no round. */
const restMs = limits.presenceGraceMs + 500

type Bench = { cluster: Cluster; users: readonly BenchUser[]; bare: SocketTarget; ready: string }

/** Sockets to `ready` a second: at a session gateway beside a bare ws server, and through the gateway beside http-proxy in front of it. */
export async function measureHandshakes(run: Run, { cluster, users, bare, ready }: Bench): Promise<Line[]> {
  await using proxied = await startPeer('./bare-socket-proxy.ts', {
    UPSTREAM: new URL(bare.url.replace('ws', 'http')).origin,
  })
  await using statements = await startStatements(cluster, ready)
  await using theirs = await startSocketIo(cluster, ready)
  let rested = 0
  /** Targets with users of their own: someone who is online already costs less. */
  const rateOf = (target: SocketTarget, half: readonly BenchUser[]) => async (round: number) => {
    if (round > rested) await pause(restMs)
    rested = round
    return await measureRound(target, half, round)
  }
  const [some, others] = [users.slice(0, users.length / 2), users.slice(users.length / 2)]
  const rates = await measureInRounds(run.rounds(usualRounds), {
    bare: rateOf(bare, some),
    socketIo: rateOf(theirs.target, some),
    statements: async (round) => {
      await statements.reset()
      return await rateOf(statements.target, some)(round)
    },
    proxied: rateOf(proxied.target, others),
    ours: rateOf(sessionTarget(cluster, 0), some),
    whole: rateOf(gatewayTarget(cluster), others),
  })
  await befriendAll(cluster, users.length)
  const notified = await measureInRounds(run.rounds(notifiedRounds), {
    bare: rateOf(bare, some),
    ours: rateOf(sessionTarget(cluster, 0), some),
  })
  const format = (rate: number): string => `${rate.toFixed(0)}/s`
  return [
    ratioLine({
      what: 'sockets to ready, at the session gateway',
      ours: rates.ours,
      peer: { name: 'a ws server that verifies the token and sends the same statements', values: rates.statements },
      format,
      bound: { atLeast: 0.8 },
    }),
    ratioLine({
      what: 'sockets to ready, at the session gateway',
      ours: rates.ours,
      peer: { name: 'bare ws, which checks nothing', values: rates.bare },
      format,
      bound: null,
    }),
    ratioLine({
      what: 'sockets to ready, at the session gateway',
      ours: rates.ours,
      headline: 'Sockets that reach `ready` per second (more is better)',
      peer: { name: 'socket.io, which verifies the token and asks no database', values: rates.socketIo },
      format,
      bound: null,
    }),
    ratioLine({
      what: 'sockets to ready through the gateway',
      ours: rates.whole,
      peer: { name: 'bare ws behind http-proxy', values: rates.proxied },
      format,
      bound: { atLeast: 0.35 },
    }),
    ratioLine({
      what: 'sockets to ready at the session gateway, each with an online friend who is notified',
      ours: notified.ours,
      peer: { name: 'bare ws', values: notified.bare },
      format,
      bound: null,
    }),
  ]
}

/** The rate of one pool; the round that warms up opens several. */
async function measureRound(target: SocketTarget, users: readonly BenchUser[], round: number): Promise<number> {
  for (let turn = warmUpPools - 1; round === 0 && turn > 0; turn -= 1) await measurePool(target, users, turn)
  return await measurePool(target, users, round)
}

/** Other users than in the pool before, so that none is still within the grace period of it. */
async function measurePool(target: SocketTarget, users: readonly BenchUser[], turn: number): Promise<number> {
  const first = turn % 2 === 0 ? 0 : users.length / 2
  const pool = await openSocketPool(
    target,
    users.slice(first, first + perRound).map(({ token }) => token),
  )
  await closeSocketPool(pool)
  return (perRound * 1000) / pool.tookMs
}

const statementsNode = '3f1c9a52-7d84-4c0e-9b1f-5d2e8a6c4b70'

/** The bare server that does what a handshake must, as a node of its own. `reset` takes its users offline, which ours does in the pause. */
async function startStatements({ postgres, nats, environment }: Cluster, ready: string) {
  const orm = await connectDatabase({ url: postgres.url })
  const reset = async () => {
    const em = orm.em.fork()
    // Its heartbeat, without which a session gateway would evict it, is in the future.
    await em.execute(
      `insert into session_nodes (id, seen_at) values (?, now() + interval '1 day') on conflict (id) do nothing`,
      [statementsNode],
    )
    await em.execute(
      `with gone as (delete from presences where node_id = ? returning user_id)
       update users set status = 'offline' from gone where users.id = gone.user_id`,
      [statementsNode],
    )
  }
  await reset()
  const peer = await startPeer('./statement-sockets.ts', {
    CANNED_READY: ready,
    DATABASE_URL: postgres.url,
    NATS_URL: nats.url,
    JWT_SECRET: environment.JWT_SECRET!,
    NODE_ID: statementsNode,
  })
  const stop = async () => {
    await peer[Symbol.asyncDispose]()
    await reset()
    await orm.close()
  }
  return { target: peer.target, reset, [Symbol.asyncDispose]: stop }
}

/** socket.io, installed for this run alone. */
async function startSocketIo({ environment }: Cluster, ready: string): Promise<PeerProcess> {
  const cwd = join(import.meta.dirname, 'socket-io')
  await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd })
  const peer = await startPeer('./socket-io/server.js', { CANNED_READY: ready, JWT_SECRET: environment.JWT_SECRET! })
  const url = peer.target.url.replace('/ws', '/socket.io/?EIO=4&transport=websocket')
  return { ...peer, target: { ...peer.target, url, protocol: socketIo } }
}
