import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '@gatehouse/contracts'
import type { Cluster } from '../deploy/cluster/cluster.ts'
import { ratioLine, type Line } from './report.ts'
import { measureInRounds, type Run } from './rounds.ts'
import { closeSocketPool, openSocketPool, type SocketTarget } from './socket-pool.ts'
import { gatewayTarget, sessionTarget, startPeer } from './socket-targets.ts'
import { befriendAll, type BenchUser } from './socket-users.ts'

const usualRounds = 5
/** Of the line for information. */
const notifiedRounds = 3
const perRound = 2_500
/** V8 is still compiling while a fresh process takes its first thousands: pools of the round that is not counted. */
const warmUpPools = 3
/** Then the users of the round before are offline, and recording that falls into no round. */
const restMs = limits.presenceGraceMs + 500

type Bench = { cluster: Cluster; users: readonly BenchUser[]; bare: SocketTarget }

/** Sockets to `ready` a second: at a session gateway beside a bare ws server, and through the gateway beside http-proxy in front of it. */
export async function measureHandshakes(run: Run, { cluster, users, bare }: Bench): Promise<Line[]> {
  await using proxied = await startPeer('./bare-socket-proxy.ts', {
    UPSTREAM: new URL(bare.url.replace('ws', 'http')).origin,
  })
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
  const bareWs = { name: 'bare ws', values: rates.bare }
  return [
    ratioLine({
      what: 'sockets to ready, at the session gateway',
      ours: rates.ours,
      peer: bareWs,
      format,
      bound: { atLeast: 0.6 },
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
