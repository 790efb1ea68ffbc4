import { createTokenKey, signToken } from '@gatehouse/auth'
import { startRedis } from '@gatehouse/test-kit'
import { startChild } from './gateway/child.ts'
import { driveRound, warmUp, type Contender, type Round } from './gateway/drive.ts'
import { startHaproxy } from './gateway/haproxy.ts'
import { ratioLine, type Benchmark } from './report.ts'
import { measureInRounds, median } from './rounds.ts'

const usualRounds = 12
const seconds = 1.2
/** Of bare undici. Design: budgets. */
const goal = 0.8
const secrets = { JWT_SECRET: 'j'.repeat(32), INTERNAL_SECRET: 'i'.repeat(32) }

/** Authenticated forwarding: token, account state from Redis, signed caller, headers. Design: budgets. */
export const benchmark: Benchmark = async (run) => {
  await using opening = new AsyncDisposableStack()
  const redis = opening.use(await startRedis())
  const upstream = opening.use(await startChild('upstream.ts', {}))
  const settings = { ...secrets, UPSTREAM: `http://127.0.0.1:${upstream.port}`, REDIS: redis.url }
  const load = opening.use(await startChild('load.ts', {}))
  const start = async (file: string) => opening.use(await startChild(file, settings))
  const contenders: Record<string, Contender> = {
    bare: { name: 'bare undici, no check', child: await start('bare.ts') },
    ours: { name: 'Gatehouse', child: await start('ours.ts') },
    fastify: { name: 'Fastify, same checks', child: await start('fastify.ts') },
    haproxy: { name: 'HAProxy, JWT only', child: opening.use(await startHaproxy(settings)) },
  }
  const claims = { userId: '42', username: 'ada' }
  const token = signToken(createTokenKey(secrets.JWT_SECRET), claims, { expiresIn: '1h', now: Date.now() })
  const order = { token, seconds }
  const drives = Object.entries(contenders).map(([key, contender]) => {
    return [key, () => driveRound(load, contender, order)] as const
  })
  await warmUp(load, Object.values(contenders), order)
  const rounds = await measureInRounds(run.rounds(usualRounds), Object.fromEntries(drives))
  console.log(tableOf(contenders, rounds))
  const beside = (key: string, peer: string, bound: { atLeast: number } | null) =>
    lineOf(peer, bound, rounds.ours!, rounds[key]!)
  const bareLine = beside('bare', 'bare undici', { atLeast: 0.6 })
  return [
    { ...bareLine, limit: `${bareLine.limit}, goal ${goal}` },
    beside('fastify', 'Fastify', { atLeast: 1.5 }),
    beside('haproxy', 'HAProxy, which asks nobody whether a token is revoked', null),
  ]
}

function lineOf(peer: string, bound: { atLeast: number } | null, ours: readonly Round[], others: readonly Round[]) {
  return ratioLine({
    ...(peer === 'Fastify' && { headline: 'Authenticated requests forwarded per second (more is better)' }),
    what: `authenticated forwarding beside ${peer}`,
    ours: ours.map(({ perSecond }) => perSecond),
    peer: { name: peer, values: others.map(({ perSecond }) => perSecond) },
    format: (rate) => `${rate.toFixed(0)} req/s`,
    bound,
  })
}

function tableOf(contenders: Record<string, Contender>, rounds: Record<string, Round[]>): string {
  const head = ['medians', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs a request', 'RSS MB', '× bare']
  const medianOf = (key: string, value: (round: Round) => number): number => median(rounds[key]!.map(value))
  const bare = medianOf('bare', ({ perSecond }) => perSecond)
  const rows = Object.entries(contenders).map(([key, { name }]) => [
    name,
    medianOf(key, ({ perSecond }) => perSecond).toFixed(0),
    medianOf(key, ({ p50Ms }) => p50Ms).toFixed(2),
    medianOf(key, ({ p99Ms }) => p99Ms).toFixed(2),
    medianOf(key, ({ cpuMicros }) => cpuMicros).toFixed(0),
    rounds[key]!.at(-1)!.megabytes.toFixed(0),
    (medianOf(key, ({ perSecond }) => perSecond) / bare).toFixed(2),
  ])
  return [head, ...rows]
    .map((row) => row.map((cell, column) => (column ? cell.padStart(18) : cell.padEnd(24))).join(''))
    .join('\n')
}
