import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import type { Line } from './report.ts'
import { openSlowClients, slowOfEachKind } from './slow-clients/slow-clients.ts'
import { openSlowSocket } from './slow-clients/slow-socket.ts'
import { startBenchInstance, type BenchInstance } from './slow-clients/start-instance.ts'

const rounds = 5
const readsPerRound = 500
const readsPerSecond = 100
/** The first burst of the slow clients, up to full buffers, is over by then. */
const settleMs = 4_000

/** Of every other client; the slow ones share 198.51.100.7. */
const othersAddress = '203.0.113.5'

type Client = { agent: Agent; instance: BenchInstance; failures: string[] }

/**
 * What slow clients of one address cost everybody else: reads of a third party beside them and without them, in turns, and
 * whether others see an error. Design: budgets, invariant 10.
 */
export async function benchmark(): Promise<Line[]> {
  await using instance = await startBenchInstance()
  const client: Client = { agent: new Agent({ connections: 32 }), instance, failures: [] }
  await readsLatency(client)
  client.failures.length = 0
  const p99s = { idle: [] as number[], beside: [] as number[] }
  for (let round = 0; round < rounds; round += 1) {
    p99s.idle.push(await measureRound(client))
    await using _slow = await openSlowClients(instance)
    await pause(settleMs)
    p99s.beside.push(await measureRound(client))
  }
  await client.agent.close()
  return [latencyLine(p99s), errorLine(client.failures)]
}

function latencyLine({ idle, beside }: { idle: number[]; beside: number[] }): Line {
  const ratio = median(beside) / median(idle)
  return {
    what: `p99 of GET @me beside ${slowOfEachKind} slow readers, writers and sockets of one address each`,
    measured: `${withSpread(beside)} ms`,
    peer: `its idle p99 ${withSpread(idle)} ms`,
    ratio,
    limit: '≤ 2',
    within: ratio <= 2,
  }
}

function errorLine(failures: readonly string[]): Line {
  for (const failure of failures.slice(0, 5)) console.log(`  ${failure}`)
  return {
    what: 'errors that others see meanwhile',
    measured: String(failures.length),
    peer: `${2 * rounds * readsPerRound} reads, logins, files, sockets`,
    ratio: null,
    limit: '0',
    within: failures.length === 0,
  }
}

async function measureRound(client: Client): Promise<number> {
  const [latency] = await Promise.all([readsLatency(client), doOtherThings(client)])
  return latency
}

/** The p99 in milliseconds of reads that come at a steady rate, whether or not the ones before have been answered. */
async function readsLatency(client: Client): Promise<number> {
  const started = performance.now()
  const reads = Array.from({ length: readsPerRound }, async (_, index) => {
    const due = started + (index * 1000) / readsPerSecond
    await pause(Math.max(0, due - performance.now()))
    const sent = performance.now()
    await ask(client, { path: '/api/users/@me', token: client.instance.other.token })
    return performance.now() - sent
  })
  const latencies = (await Promise.all(reads)).toSorted((a, b) => a - b)
  return latencies[Math.ceil(latencies.length * 0.99) - 1]!
}

/** A login, a file and a socket of somebody else. */
async function doOtherThings(client: Client): Promise<void> {
  const { instance, failures } = client
  const { username, password, token } = instance.other
  await ask(client, { path: '/api/auth/login', body: { username, password } })
  await ask(client, { path: `/api/uploads/${instance.file}` })
  await ask(client, { path: '/api/instance/info' })
  const socket = await openSlowSocket(instance, { token, address: othersAddress }).catch((error: unknown) => {
    failures.push(`socket: ${String(error)}`)
  })
  socket?.destroy()
}

type Question = { path: string; token?: string; body?: object }

async function ask({ agent, instance, failures }: Client, { path, token, body }: Question): Promise<void> {
  try {
    const answer = await agent.request({
      origin: instance.url,
      path,
      method: body ? 'POST' : 'GET',
      headers: {
        'x-forwarded-for': othersAddress,
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body ? JSON.stringify(body) : null,
    })
    await answer.body.dump({ limit: 10_000_000 })
    if (answer.statusCode !== 200) failures.push(`${path} answered ${answer.statusCode}`)
  } catch (error) {
    failures.push(`${path}: ${String(error)}`)
  }
}

function withSpread(values: readonly number[]): string {
  return `${median(values).toFixed(1)} (${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)})`
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}
