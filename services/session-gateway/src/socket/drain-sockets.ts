import { closures } from '@gatehouse/contracts'
import { delay } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { closeSocket } from './close-socket.ts'
import type { SessionSocket } from './session-socket.ts'

type DrainDeps = Pick<Deps, 'timer' | 'timings'> & Pick<Deps, 'sessions' | 'presence' | 'timeouts' | 'openSockets'>

/** Closes with 1012. Contract: 6, server going away. */
export async function drainSockets(deps: DrainDeps): Promise<void> {
  const { timer, timings, openSockets } = deps
  await closeSpread(deps, openSockets.all())
  await Promise.race([openSockets.emptied(), delay(timer, timings.closeMs)])
  for (const socket of openSockets.all()) socket.terminate()
}

/** Spreads the reconnects over at most the drain period. The abort of `signal` ends it early. */
export async function closeSpread(
  deps: Omit<DrainDeps, 'openSockets'>,
  sockets: readonly SessionSocket[],
  signal?: AbortSignal,
): Promise<void> {
  const { timer, timings } = deps
  const spreadMs = Math.min(timings.drainMs, sockets.length * policy.drainPerSocketMs)
  const rounds = Math.max(1, Math.floor(spreadMs / policy.drainPauseMs))
  const perRound = Math.ceil(sockets.length / rounds)
  for (let first = 0; first < sockets.length; first += perRound) {
    if (first > 0) await delay(timer, policy.drainPauseMs)
    if (signal?.aborted) return
    for (const socket of sockets.slice(first, first + perRound)) {
      if (socket.phase !== 'closing') closeSocket(deps, socket, closures.goingAway)
    }
  }
}
