import { setTimeout as pause } from 'node:timers/promises'
import { closures } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { endSocket } from './end-socket.ts'
import type { SessionSocket } from './session-socket.ts'

/**
 * Sends everybody away, spread over time so that they do not come back elsewhere all at once: longer the more there are,
 * up to the drain period. Resolves when all connections are gone. Contract: 6, server going away.
 */
export async function drainSockets(deps: Deps, open: ReadonlySet<SessionSocket>): Promise<void> {
  const leaving = [...open]
  const spreadMs = Math.min(deps.timings.drainMs, leaving.length * policy.drainPerSocketMs)
  const rounds = Math.max(1, Math.floor(spreadMs / policy.drainPauseMs))
  const perRound = Math.ceil(leaving.length / rounds)
  for (let first = 0; first < leaving.length; first += perRound) {
    for (const socket of leaving.slice(first, first + perRound)) {
      if (socket.phase !== 'ending') endSocket(deps, socket, closures.goingAway)
    }
    if (first + perRound < leaving.length) await pause(policy.drainPauseMs)
  }
  const limit = performance.now() + deps.timings.closeMs
  while (open.size > 0 && performance.now() < limit) await pause(policy.drainPauseMs)
  for (const socket of open) socket.terminate()
}
