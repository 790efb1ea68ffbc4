import { WebSocket } from 'ws'
import { median, percentile } from '../rounds.ts'
import { describe, type ComparedInstance } from './instance.ts'

/** What one round of one load showed. `failures` are what was refused or broke off, each kind once, with its number. */
export type LoadRound = { perSecond: number; medianMs: number; p99Ms: number; failures: string[] }

export type LoadSize = { lanes: number; ms: number; most?: number }

type Attempt = () => Promise<string | undefined>

/** GET @me, each lane one at a time. */
export function readOwnAccount(instance: ComparedInstance, size: LoadSize, signal: AbortSignal): Promise<LoadRound> {
  const { token, request } = instance
  return runLoad(size, signal, async () => {
    const { status } = await request({ method: 'GET', path: '/api/users/@me', token })
    return status === 200 ? undefined : `HTTP ${status}`
  })
}

/** Logins with the right password. Ends at the limit of logins for one address. */
export function logInAgain(instance: ComparedInstance, size: LoadSize, signal: AbortSignal): Promise<LoadRound> {
  const { account, request } = instance
  const limited = new AbortController()
  return runLoad(size, AbortSignal.any([signal, limited.signal]), async () => {
    const answer = await request({ method: 'POST', path: '/api/auth/login', body: account })
    if (answer.status === 429) limited.abort()
    if (answer.status === 429) return `limited, again in ${answer.retryAfter ?? 'some'} s`
    return answer.status === 200 ? undefined : `HTTP ${answer.status}`
  })
}

/** Sockets from the connection to `ready`; each is closed before its lane opens another. */
export function openSockets(instance: ComparedInstance, size: LoadSize, signal: AbortSignal): Promise<LoadRound> {
  return runLoad(size, signal, () => openUntilReady(instance))
}

async function runLoad(
  { lanes, ms, most = Infinity }: LoadSize,
  signal: AbortSignal,
  attempt: Attempt,
): Promise<LoadRound> {
  const latencies: number[] = []
  const failures = new Map<string, number>()
  const startedAt = performance.now()
  let started = 0
  const lane = async (): Promise<void> => {
    while (performance.now() - startedAt < ms && started < most && !signal.aborted) {
      started += 1
      const sentAt = performance.now()
      const failure = await attempt().catch(describe)
      if (failure === undefined) latencies.push(performance.now() - sentAt)
      else failures.set(failure, (failures.get(failure) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  const seconds = (performance.now() - startedAt) / 1000
  const isEmpty = latencies.length === 0
  return {
    perSecond: latencies.length / seconds,
    medianMs: isEmpty ? NaN : median(latencies),
    p99Ms: isEmpty ? NaN : percentile(latencies, 0.99),
    failures: [...failures].map(([failure, count]) => `${count} × ${failure}`),
  }
}

const socketLimitMs = 15_000

/** Gives why there was no `ready`, if there was none. */
async function openUntilReady({ origin, token }: ComparedInstance): Promise<string | undefined> {
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/ws`, {
    perMessageDeflate: false,
    handshakeTimeout: socketLimitMs,
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const outcome = await new Promise<string | undefined>((resolve) => {
    const timer = setTimeout(() => resolve('no ready'), socketLimitMs)
    const end = (failure?: string): void => {
      clearTimeout(timer)
      resolve(failure)
    }
    socket.once('open', () => socket.send(JSON.stringify({ type: 'auth', token })))
    socket.on('message', (data) => {
      const text = String(data)
      if (text.startsWith('{"type":"ready"')) return end()
      const { type, message } = JSON.parse(text) as { type?: string; message?: string }
      if (type === 'ready') end()
      if (type === 'error') end(`socket: ${message}`)
    })
    socket.once('close', (code) => end(`socket: closed with ${code}`))
    socket.once('error', (error) => end(`socket: ${describe(error)}`))
  })
  socket.terminate()
  await closed
  return outcome
}
