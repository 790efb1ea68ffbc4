import { closures } from '@gatehouse/contracts'
import { delay } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { closeSocket } from './close-socket.ts'

type DrainDeps = Pick<Deps, 'timer' | 'timings'> & Pick<Deps, 'sessions' | 'presence' | 'timeouts' | 'openSockets'>

/**
 * Closes every socket with 1012, spread over time so that the clients do not reconnect elsewhere all at once: longer
 * the more there are, up to the drain period. Resolves when all connections are closed. Contract: 6, server going away.
 */
export async function drainSockets(deps: DrainDeps): Promise<void> {
  const { timer, timings, openSockets } = deps
  const sockets = openSockets.all()
  const spreadMs = Math.min(timings.drainMs, sockets.length * policy.drainPerSocketMs)
  const rounds = Math.max(1, Math.floor(spreadMs / policy.drainPauseMs))
  const perRound = Math.ceil(sockets.length / rounds)
  for (let first = 0; first < sockets.length; first += perRound) {
    if (first > 0) await delay(timer, policy.drainPauseMs)
    for (const socket of sockets.slice(first, first + perRound)) {
      if (socket.phase !== 'closing') closeSocket(deps, socket, closures.goingAway)
    }
  }
  await Promise.race([openSockets.emptied(), delay(timer, timings.closeMs)])
  for (const socket of openSockets.all()) socket.terminate()
}
