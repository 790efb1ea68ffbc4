import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import bcrypt from 'bcrypt'
import { Agent } from 'undici'
import { startCluster } from '../deploy/cluster/cluster.ts'
import { measureRate } from './measure-rate.ts'
import type { Line } from './report.ts'

const rounds = 3
const loginsMs = 5_000
const loginsAtOnce = 16
const readsPerRound = 300
const readsPerSecond = 50
const floodAtOnce = 16
const credentials = { username: 'bench_user', password: 'correct horse battery' }

type Client = { agent: Agent; origin: string; addresses: number }

/** Logins through the whole stack beside bare bcrypt, and what a flood of them does to other requests. Design: budgets. */
export async function benchmark(): Promise<Line[]> {
  // Each request comes from another address, as a proxy would tell it: the limit for one address is not the subject.
  await using cluster = await startCluster({ environment: { TRUST_PROXY: 'loopback', LOG_LEVEL: 'error' } })
  await using bare = startBare()
  const client = { agent: new Agent({ connections: 64 }), origin: cluster.gateways[0]!, addresses: 0 }
  const token = await register(client)
  await Promise.all(Array.from({ length: 4 }, () => logIn(client)))
  const lines = [await measureLogins(client, bare.child), await measureReads(client, token)]
  await client.agent.close()
  return lines
}

async function measureLogins(client: Client, bare: ChildProcess): Promise<Line> {
  const hash = await bcrypt.hash(credentials.password, 12)
  const rates = { bare: [] as number[], ours: [] as number[] }
  for (let round = 0; round < rounds; round += 1) {
    bare.send({ hash, password: credentials.password, ms: loginsMs })
    rates.bare.push(((await once(bare, 'message')) as [number])[0])
    rates.ours.push(await measureRate({ lanes: loginsAtOnce, ms: loginsMs, work: () => logIn(client) }))
  }
  const [peer, ours] = [mean(rates.bare), mean(rates.ours)]
  const ratio = ours / peer
  return {
    what: 'logins through the whole stack',
    measured: `${ours.toFixed(2)} logins/s`,
    peer: `bare bcrypt.compare ${peer.toFixed(2)}/s`,
    ratio,
    limit: '≥ 0.95',
    within: ratio >= 0.95,
  }
}

async function measureReads(client: Client, token: string): Promise<Line> {
  await readsLatency(client, token)
  const p99s = { idle: [] as number[], flooded: [] as number[] }
  for (let round = 0; round < rounds; round += 1) {
    p99s.idle.push(await readsLatency(client, token))
    await using _ = startFlood(client)
    await pause(500)
    p99s.flooded.push(await readsLatency(client, token))
  }
  const [idle, flooded] = [median(p99s.idle), median(p99s.flooded)]
  return {
    what: 'p99 of GET /api/users/@me during a login flood',
    measured: `${flooded.toFixed(1)} ms`,
    peer: `its idle p99 ${idle.toFixed(1)} ms`,
    ratio: flooded / idle,
    limit: '≤ 1.5',
    within: flooded / idle <= 1.5,
  }
}

/** The p99 in milliseconds of reads that come at a steady rate, whether or not the ones before have been answered. */
async function readsLatency(client: Client, token: string): Promise<number> {
  const started = performance.now()
  const reads = Array.from({ length: readsPerRound }, async (_, index) => {
    const due = started + (index * 1000) / readsPerSecond
    await pause(Math.max(0, due - performance.now()))
    return await timeOf(() => ask(client, { method: 'GET', path: '/api/users/@me', token, expected: 200 }))
  })
  const latencies = (await Promise.all(reads)).toSorted((a, b) => a - b)
  return latencies[Math.ceil(latencies.length * 0.99) - 1]!
}

function startFlood(client: Client): AsyncDisposable {
  let on = true
  const lane = async () => {
    while (on) await logIn(client)
  }
  const lanes = Promise.all(Array.from({ length: floodAtOnce }, lane))
  return {
    [Symbol.asyncDispose]: async () => {
      on = false
      await lanes
    },
  }
}

async function register(client: Client): Promise<string> {
  const answer = await ask(client, { method: 'POST', path: '/api/auth/register', body: credentials, expected: 201 })
  return (JSON.parse(answer) as { token: string }).token
}

async function logIn(client: Client): Promise<void> {
  await ask(client, { method: 'POST', path: '/api/auth/login', body: credentials, expected: 200 })
}

type Question = { method: 'GET' | 'POST'; path: string; expected: number; token?: string; body?: object }

async function ask(client: Client, { method, path, expected, token, body }: Question): Promise<string> {
  client.addresses += 1
  const address = [10, client.addresses >> 16, (client.addresses >> 8) & 255, client.addresses & 255].join('.')
  const answer = await client.agent.request({
    origin: client.origin,
    path,
    method,
    headers: {
      'x-forwarded-for': address,
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    body: body ? JSON.stringify(body) : null,
  })
  const text = await answer.body.text()
  if (answer.statusCode !== expected) throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text}`)
  return text
}

function startBare() {
  const program = new URL('./bare-bcrypt.ts', import.meta.url)
  const child = fork(program, { env: { ...process.env, UV_THREADPOOL_SIZE: String(availableParallelism()) } })
  return {
    child,
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]!
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
