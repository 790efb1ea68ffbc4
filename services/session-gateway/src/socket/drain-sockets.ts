import { closures } from '@gatehouse/contracts'
import { delay, runSpread } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
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
  await runSpread(timer, sockets, { maxMs: timings.drainMs, signal }, (socket) => {
    if (socket.phase !== 'closing') closeSocket(deps, socket, closures.goingAway)
  })
}
