import { closures } from '@gatehouse/contracts'
import { delay, runSpread } from '@gatehouse/runtime'
import { closeSocket, type ReleaseDeps } from './close-socket.ts'
import type { SessionSocket } from './session-socket.ts'
import type { OperationContext } from '../context.ts'

export class OpenSockets {
  readonly #sockets = new Set<SessionSocket>()
  #emptied: PromiseWithResolvers<void> | undefined
  /** From the start of the service until its drain. */
  accepting = false

  add(socket: SessionSocket): void {
    this.#sockets.add(socket)
  }

  delete(socket: SessionSocket): void {
    this.#sockets.delete(socket)
    if (this.#sockets.size === 0) this.#emptied?.resolve()
  }

  all(): readonly SessionSocket[] {
    return [...this.#sockets]
  }

  async emptied(): Promise<void> {
    if (this.#sockets.size === 0) return
    this.#emptied ??= Promise.withResolvers()
    await this.#emptied.promise
  }
}

type DrainDeps = Pick<OperationContext, 'timer' | 'timings'> & ReleaseDeps & { openSockets: OpenSockets }

/** Closes with 1012. Contract: 6, server going away. */
export async function drainSockets(deps: DrainDeps): Promise<void> {
  const { timer, timings, openSockets } = deps
  await closeSpread(deps, openSockets.all())
  await Promise.race([openSockets.emptied(), delay(timer, timings.closeMs)])
  for (const socket of openSockets.all()) socket.terminate()
}

/** Of a node that was evicted while it ran. */
export class EvictedSockets implements Disposable {
  readonly #deps: DrainDeps & Pick<OperationContext, 'log'>
  readonly #stopped = new AbortController()
  #closing = new AbortController()

  constructor(deps: DrainDeps & Pick<OperationContext, 'log'>) {
    this.#deps = deps
  }

  /** The next `ready` tells what an evicted node missed. Contract: 6, presence_update, server going away. */
  close(): void {
    this.#closing.abort()
    this.#closing = new AbortController()
    const signal = AbortSignal.any([this.#stopped.signal, this.#closing.signal])
    const sockets = this.#deps.openSockets.all().filter(({ session }) => session !== undefined)
    this.#deps.log.warn({ sockets: sockets.length }, 'this node was evicted while it ran, its sockets are closed')
    void closeSpread(this.#deps, sockets, signal)
  }

  [Symbol.dispose](): void {
    this.#stopped.abort()
  }
}

/** Spreads the reconnects over the drain period. */
async function closeSpread(
  deps: Omit<DrainDeps, 'openSockets'>,
  sockets: readonly SessionSocket[],
  signal?: AbortSignal,
): Promise<void> {
  const { timer, timings } = deps
  await runSpread(timer, sockets, { maxMs: timings.drainMs, signal }, (socket) => {
    if (socket.phase !== 'closing') closeSocket(deps, socket, closures.goingAway)
  })
}
