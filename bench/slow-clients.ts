import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import { ratioLine, type Line } from './report.ts'
import { percentile, type Run } from './rounds.ts'
import { openSlowClients, slowOfEachKind } from './slow-clients/slow-clients.ts'
import { openSlowSocket } from './slow-clients/slow-socket.ts'
import { startBenchInstance, type BenchInstance } from './slow-clients/start-instance.ts'
import { measureSteadyReads } from './steady-reads.ts'

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
export async function benchmark(run: Run): Promise<Line[]> {
  const rounds = run.rounds(5)
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
  return [latencyLine(p99s), errorLine(client.failures, 2 * rounds * readsPerRound)]
}

function latencyLine({ idle, beside }: { idle: number[]; beside: number[] }): Line {
  return ratioLine({
    what: `p99 of GET @me beside ${slowOfEachKind} slow readers, writers and sockets of one address each`,
    ours: beside,
    peer: { name: 'its idle p99', values: idle },
    format: (ms) => `${ms.toFixed(1)} ms`,
    bound: { atMost: 2 },
  })
}

function errorLine(failures: readonly string[], reads: number): Line {
  for (const failure of failures.slice(0, 5)) console.log(`  ${failure}`)
  return {
    what: 'errors that others see meanwhile',
    measured: String(failures.length),
    peer: `${reads} reads, and logins, files, sockets`,
    ratio: null,
    limit: '0',
    within: failures.length === 0,
  }
}

async function measureRound(client: Client): Promise<number> {
  const [latency] = await Promise.all([readsLatency(client), doOtherThings(client)])
  return latency
}

async function readsLatency(client: Client): Promise<number> {
  const read = () => ask(client, { path: '/api/users/@me', token: client.instance.other.token })
  return percentile(await measureSteadyReads({ count: readsPerRound, perSecond: readsPerSecond, read }), 0.99)
}

/** A login, a file and a socket of another account. */
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
