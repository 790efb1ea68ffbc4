import { closures, type Closure } from '@gatehouse/contracts'
import { delay, runSpread, type Quota } from '@gatehouse/runtime'
import type { OperationContext } from '../context.ts'
import type { TimeoutSet } from '../timeout-set.ts'
import { type SessionSocket, tellFailure } from './session-socket.ts'

export type ReleaseDeps = {
  timeouts: Readonly<Record<string, Pick<TimeoutSet<SessionSocket>, 'delete'>>>
  /** For the layers above. */
  onReleased(socket: SessionSocket): void
}

export type RefusalDeps = ReleaseDeps & Pick<OperationContext, 'sessionMetrics'>

export type HandshakeRefusal = Exclude<
  keyof typeof closures,
  'passwordReset' | 'accountDeleted' | 'accountSuspended' | 'goingAway' | 'tooManyConnections'
>

export function refuseHandshake(deps: RefusalDeps, socket: SessionSocket, refusal: HandshakeRefusal): void {
  deps.sessionMetrics.handshakes.inc({ outcome: refusal })
  closeSocket(deps, socket, closures[refusal])
}

export function closeSocket(deps: ReleaseDeps, socket: SessionSocket, closure: Closure): void {
  tellFailure(socket, closure)
  releaseSocket(deps, socket)
  // A paused socket would not read the peer's close frame.
  socket.resume()
  socket.close(closure.code, closure.message)
}

export function releaseSocket({ timeouts, onReleased }: ReleaseDeps, socket: SessionSocket): void {
  socket.phase = 'closing'
  socket.frames = 0
  socket.backlog = undefined
  for (const each of Object.values(timeouts)) each.delete(socket)
  onReleased(socket)
}

export function releaseQuota({ quota }: { quota: Pick<Quota, 'release'> }, socket: SessionSocket): void {
  if (socket.quotaKey === '') return
  quota.release(socket.quotaKey)
  socket.quotaKey = ''
}

export class OpenSockets extends Set<SessionSocket> {
  /** From the start of the service until its drain. */
  accepting = false
  #emptied: PromiseWithResolvers<void> | undefined

  override delete(socket: SessionSocket): boolean {
    const isDeleted = super.delete(socket)
    if (this.size === 0) this.#emptied?.resolve()
    return isDeleted
  }

  async emptied(): Promise<void> {
    if (this.size === 0) return
    this.#emptied ??= Promise.withResolvers()
    await this.#emptied.promise
  }
}

type DrainDeps = Pick<OperationContext, 'timer' | 'timings'> & ReleaseDeps & { openSockets: OpenSockets }

/** Closes with 1012. Contract: 6, server going away. */
export async function drainSockets(deps: DrainDeps): Promise<void> {
  const { timer, timings, openSockets } = deps
  await closeSpread(deps, [...openSockets])
  await Promise.race([openSockets.emptied(), delay(timer, timings.closeMs)])
  for (const socket of openSockets) socket.terminate()
}

/** The next `ready` tells what an evicted node missed. Contract: 6, presence_update, server going away. */
export function createEvictedSockets(deps: DrainDeps & Pick<OperationContext, 'log'>) {
  const stopped = new AbortController()
  let closing = new AbortController()
  return {
    close(): void {
      closing.abort()
      closing = new AbortController()
      const sockets = [...deps.openSockets].filter(({ session }) => session !== undefined)
      deps.log.warn({ sockets: sockets.length }, 'this node was evicted while it ran, its sockets are closed')
      void closeSpread(deps, sockets, AbortSignal.any([stopped.signal, closing.signal]))
    },
    [Symbol.dispose]: () => stopped.abort(),
  }
}

/** Spreads the reconnects over the drain period. */
async function closeSpread(deps: DrainDeps, sockets: readonly SessionSocket[], signal?: AbortSignal): Promise<void> {
  await runSpread(deps.timer, sockets, { maxMs: deps.timings.drainMs, signal }, (socket) => {
    if (socket.phase !== 'closing') closeSocket(deps, socket, closures.goingAway)
  })
}
