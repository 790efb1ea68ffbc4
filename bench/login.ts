import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import bcrypt from 'bcrypt'
import { Agent } from 'undici'
import { startCluster } from '../deploy/cluster/cluster.ts'
import { measureRate } from './measure-rate.ts'
import { ratioLine, type Line } from './report.ts'
import { measureInRounds, percentile, type Run } from './rounds.ts'
import { measureSteadyReads } from './steady-reads.ts'

const loginsMs = 5_000
const loginsAtOnce = 16
const readsPerRound = 300
const readsPerSecond = 50
const floodAtOnce = 16
const credentials = { username: 'bench_user', password: 'correct horse battery' }

type Client = { agent: Agent; origin: string; addresses: number }

/** Logins through the whole stack beside bare bcrypt, and what a flood of them does to other requests. Design: budgets. */
export async function benchmark(run: Run): Promise<Line[]> {
  // Each request comes from another address, as a proxy would tell it: the limit for one address is not the subject.
  await using cluster = await startCluster({ environment: { TRUST_PROXY: 'loopback', LOG_LEVEL: 'error' } })
  await using bare = startBare()
  const client = { agent: new Agent({ connections: 64 }), origin: cluster.gateways[0]!, addresses: 0 }
  const token = await register(client)
  await Promise.all(Array.from({ length: 4 }, () => logIn(client)))
  const lines = [await measureLogins(run, client, bare.child), await measureReads(run, client, token)]
  await client.agent.close()
  return lines
}

async function measureLogins(run: Run, client: Client, bare: ChildProcess): Promise<Line> {
  const hash = await bcrypt.hash(credentials.password, 12)
  const rates = await measureInRounds(run.rounds(3), {
    bare: async () => {
      bare.send({ hash, password: credentials.password, ms: loginsMs })
      return ((await once(bare, 'message')) as [number])[0]
    },
    ours: () => measureRate({ lanes: loginsAtOnce, ms: loginsMs, work: () => logIn(client) }),
  })
  return ratioLine({
    headline: 'Logins per second, limited by the hash (more is better)',
    what: 'logins through the whole stack',
    ours: rates.ours,
    peer: { name: 'bare bcrypt.compare', values: rates.bare },
    format: (rate) => `${rate.toFixed(2)}/s`,
    bound: { atLeast: 0.95 },
  })
}

async function measureReads(run: Run, client: Client, token: string): Promise<Line> {
  const read = () => ask(client, { method: 'GET', path: '/api/users/@me', token, expected: 200 })
  const readAll = () => measureSteadyReads({ count: readsPerRound, perSecond: readsPerSecond, read })
  const latencies = await measureInRounds(run.rounds(9), {
    idle: readAll,
    flooded: async () => {
      await using _ = startFlood(client)
      await pause(500)
      return await readAll()
    },
  })
  const p99 = (reads: readonly number[]) => percentile(reads, 0.99)
  return ratioLine({
    what: 'p99 of GET @me during a login flood',
    ours: latencies.flooded.map(p99),
    peer: { name: 'its idle p99', values: latencies.idle.map(p99) },
    // That of a single round is the third slowest read.
    whole: { ours: p99(latencies.flooded.flat()), peer: p99(latencies.idle.flat()) },
    format: (ms) => `${ms.toFixed(1)} ms`,
    bound: { atMost: 1.5 },
  })
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
  const child = fork(program, {
    env: { ...process.env, UV_THREADPOOL_SIZE: String(availableParallelism()) },
    detached: process.platform === 'linux',
  })
  return {
    child,
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}
