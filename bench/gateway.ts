import { once } from 'node:events'
import { createTokenKey, signToken } from '@gatehouse/auth'
import { startRedis } from '@gatehouse/test-kit'
import { startChild, type Child } from './gateway/child.ts'
import type { Measured } from './gateway/load.ts'
import { startHaproxy } from './gateway/haproxy.ts'
import type { Benchmark } from './report.ts'

const rounds = 12
const seconds = 1.2
const connections = 64
const secrets = { JWT_SECRET: 'j'.repeat(32), INTERNAL_SECRET: 'i'.repeat(32) }

type Contender = { name: string; child: Child; measured: (Measured & { cpuSeconds: number; megabytes: number })[] }

/** Authenticated forwarding: token, account state from Redis, signed caller, headers. Design: budgets. */
export const benchmark: Benchmark = async () => {
  await using opening = new AsyncDisposableStack()
  const redis = opening.use(await startRedis())
  const upstream = opening.use(await startChild('upstream.ts', {}))
  const settings = { ...secrets, UPSTREAM: `http://127.0.0.1:${upstream.port}`, REDIS: redis.url }
  const load = opening.use(await startChild('load.ts', {}))
  const contenders: Contender[] = []
  const enter = (name: string, child: Child): void =>
    void contenders.push({ name, child: opening.use(child), measured: [] })
  enter('bare undici, no check', await startChild('bare.ts', settings))
  enter('Gatehouse', await startChild('ours.ts', settings))
  enter('Fastify, same checks', await startChild('fastify.ts', settings))
  const haproxy = await startHaproxy(settings)
  if (haproxy) enter('HAProxy, JWT only', haproxy)

  const token = signToken(
    createTokenKey(secrets.JWT_SECRET),
    { userId: '42', username: 'ada' },
    { expiresIn: '1h', now: Date.now() },
  )
  for (const contender of contenders) await drive(load, contender, token, 1.5)
  for (const contender of contenders) contender.measured.length = 0
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of contenders) await drive(load, contender, token, seconds)
  }
  console.log(tableOf(contenders))
  const [bare, ours, fastify] = contenders.map(({ measured }) => measured.map(({ perSecond }) => perSecond))
  return [line('of bare undici', ours!, bare!, 0.65), line('of a Fastify gateway', ours!, fastify!, 2)]
}

async function drive(load: Child, contender: Contender, token: string, forSeconds: number): Promise<void> {
  const request = [
    'GET /api/users/@me HTTP/1.1',
    'Host: home.example',
    `Authorization: Bearer ${token}`,
    'Accept: application/json',
    'Accept-Encoding: gzip, deflate, br',
    'Accept-Language: en-GB,en;q=0.9',
    'Origin: https://elsewhere.example',
    'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36',
    '\r\n',
  ].join('\r\n')
  const before = contender.child.cpuSeconds()
  const answered = once(load.process, 'message')
  load.process.send({ port: contender.child.port, connections, seconds: forSeconds, request })
  const [measured] = (await answered) as [Measured]
  if (measured.errors > 0) throw new Error(`${contender.name}: ${measured.errors} errors`)
  const cpuSeconds = contender.child.cpuSeconds() - before
  contender.measured.push({ ...measured, cpuSeconds, megabytes: contender.child.megabytes() })
}

/** The best round of each: the machine is shared, and what disturbs a round only ever slows it. */
function line(what: string, ours: readonly number[], peer: readonly number[], limit: number) {
  const [best, peerBest] = [Math.max(...ours), Math.max(...peer)]
  const ratio = best / peerBest
  return {
    what: `authenticated forwarding, as a share ${what}`,
    measured: `${Math.round(best)} req/s`,
    peer: `${Math.round(peerBest)} req/s`,
    ratio,
    limit: `≥ ${limit}`,
    within: ratio >= limit,
  }
}

function tableOf(contenders: readonly Contender[]): string {
  const head = ['', 'best req/s', 'median', 'p50 ms', 'p99 ms', 'CPU s/10k req', 'RSS MB', '× bare']
  const bare = bestOf(contenders[0]!)
  const rows = contenders.map((contender) => {
    const { name, measured } = contender
    return [
      name,
      Math.round(bestOf(contender)).toString(),
      Math.round(median(measured.map(({ perSecond }) => perSecond))).toString(),
      median(measured.map(({ p50Ms }) => p50Ms)).toFixed(2),
      median(measured.map(({ p99Ms }) => p99Ms)).toFixed(2),
      median(measured.map(({ cpuSeconds, requests }) => (cpuSeconds / requests) * 10_000)).toFixed(2),
      Math.round(measured.at(-1)!.megabytes).toString(),
      (bestOf(contender) / bare).toFixed(2),
    ]
  })
  return [head, ...rows]
    .map((row) => row.map((cell, column) => (column ? cell.padStart(14) : cell.padEnd(24))).join(''))
    .join('\n')
}

function bestOf({ measured }: Contender): number {
  return Math.max(...measured.map(({ perSecond }) => perSecond))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}
