import type { SessionSocket } from './session-socket.ts'

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
