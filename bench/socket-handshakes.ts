import type { Cluster } from '../deploy/cluster/cluster.ts'
import { ratioLine, type Line } from './report.ts'
import { measureInRounds, type Run } from './rounds.ts'
import { closeSocketPool, openSocketPool, type SocketTarget } from './socket-pool.ts'
import { gatewayTarget, sessionTarget, startPeer } from './socket-targets.ts'
import { befriendAll, type BenchUser } from './socket-users.ts'

const usualRounds = 5
const perRound = 1_500

type Bench = { cluster: Cluster; users: readonly BenchUser[]; bare: SocketTarget }

/** Sockets to `ready` a second: at a session gateway beside a bare ws server, and through the gateway beside http-proxy in front of it. */
export async function measureHandshakes(run: Run, { cluster, users, bare }: Bench): Promise<Line[]> {
  await using proxied = await startPeer('./bare-socket-proxy.ts', {
    UPSTREAM: new URL(bare.url.replace('ws', 'http')).origin,
  })
  const rounds = run.rounds(usualRounds)
  const rateOf = (target: SocketTarget) => (round: number) => measureRound(target, users, round)
  const rates = await measureInRounds(rounds, {
    bare: rateOf(bare),
    ours: rateOf(sessionTarget(cluster, 0)),
    proxied: rateOf(proxied.target),
    whole: rateOf(gatewayTarget(cluster)),
  })
  await befriendAll(cluster, users.length)
  const notified = await measureInRounds(rounds, { bare: rateOf(bare), ours: rateOf(sessionTarget(cluster, 0)) })
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

/** Other users in each round, so that none is still within the grace period of the round before. */
async function measureRound(target: SocketTarget, users: readonly BenchUser[], round: number): Promise<number> {
  const first = (round * perRound) % (users.length - perRound)
  const pool = await openSocketPool(
    target,
    users.slice(first, first + perRound).map(({ token }) => token),
  )
  await closeSocketPool(pool)
  return (perRound * 1000) / pool.tookMs
}
