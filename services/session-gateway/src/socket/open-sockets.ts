import type { SessionSocket } from './session-socket.ts'

/** Every socket of this process that is not yet closed, whatever its phase. */
export class OpenSockets {
  readonly #sockets = new Set<SessionSocket>()
  #emptied: PromiseWithResolvers<void> | undefined
  /** Whether upgrades are taken: from when the service has started until it drains. */
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

  /** Resolves when there is none. */
  async emptied(): Promise<void> {
    if (this.#sockets.size === 0) return
    this.#emptied ??= Promise.withResolvers()
    await this.#emptied.promise
  }
}
