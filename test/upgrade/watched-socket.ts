import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { eventually } from '@gatehouse/test-kit'
import type { History } from '../faults/history.ts'
import type { TestUser } from '../faults/users.ts'
import type { Balancer } from './balancer.ts'
import { anyAddress } from './strict-client.ts'

export type SocketWatch = {
  /** The longest time from a close to the next `ready`. */
  worstReturnMs(): number
  stop(): void
}

type Deps = { balancer: Balancer; history: History; returnLimitMs: number }

const serviceRestart = 1012
const handshakeTimeoutMs = 10_000
const betweenAttemptsMs = 100
const firstReadyLimitMs = 60_000

/**
 * Keeps sockets open for these users: a close with another code than 1012, and a return that takes longer than the limit,
 * are violations. Resolves when all are ready. Contract: 6, server going away.
 */
export async function watchSockets(deps: Deps, users: readonly TestUser[], socketsEach: number): Promise<SocketWatch> {
  const stopping = new AbortController()
  const isStopping = (): boolean => stopping.signal.aborted
  let worstReturnMs = 0
  let ready = 0

  async function keepOpen(user: TestUser): Promise<void> {
    let closedAt: number | undefined
    while (!isStopping()) {
      const code = await openOnce(deps, user, stopping.signal, () => {
        ready += 1
        if (closedAt === undefined) return
        const returnMs = performance.now() - closedAt
        worstReturnMs = Math.max(worstReturnMs, returnMs)
        if (returnMs > deps.returnLimitMs) deps.history.violation(`a socket was back after ${returnMs.toFixed(0)} ms`)
      })
      if (isStopping()) return
      if (code === null) deps.history.count('handshakes repeated')
      else {
        closedAt = performance.now()
        deps.history.count(`sockets closed with ${code}`)
        if (code !== serviceRestart) deps.history.violation(`a socket was closed with ${code}`)
      }
      await pause(betweenAttemptsMs)
    }
  }

  for (const user of users) for (let index = 0; index < socketsEach; index += 1) void keepOpen(user)
  await eventually('all sockets are ready', () => ready >= users.length * socketsEach, firstReadyLimitMs)
  return { worstReturnMs: () => worstReturnMs, stop: () => stopping.abort() }
}

/** Opens one socket. Gives the code with which it was closed after `ready`, null when it did not become ready. */
async function openOnce(
  { balancer, history }: Deps,
  user: TestUser,
  stop: AbortSignal,
  onReady: () => void,
): Promise<number | null> {
  const url = `${balancer.pick().replace('http', 'ws')}/ws`
  const headers = { 'x-forwarded-for': anyAddress() }
  const socket = new WebSocket(url, { handshakeTimeout: handshakeTimeoutMs, headers })
  const terminate = () => socket.terminate()
  stop.addEventListener('abort', terminate, { once: true })
  const progress = { isReady: false }
  socket.on('error', () => undefined)
  socket.once('open', () => socket.send(JSON.stringify({ type: 'auth', token: user.token })))
  socket.on('message', (message: Buffer) => {
    if (progress.isReady || (JSON.parse(message.toString()) as { type: string }).type !== 'ready') return
    progress.isReady = true
    history.count('handshakes to ready')
    onReady()
  })
  const code = await new Promise<number>((resolve) => socket.once('close', resolve))
  stop.removeEventListener('abort', terminate)
  return progress.isReady ? code : null
}
