import { policy } from '../policy.ts'

/** `until` in milliseconds. */
export type RemotePresence = { userId: string; status: 'online' | 'offline'; until: number }

/** Never stored. Contract: 6. */
export class RemotePresences {
  readonly #untilOf = new Map<string, number>()

  /** True when the presence changes. */
  report({ userId, status, until }: RemotePresence, now: number): boolean {
    if (status === 'offline' || until <= now) return this.#untilOf.delete(userId)
    const isNew = !this.#untilOf.has(userId)
    if (isNew && this.#untilOf.size >= policy.remotePresences) return false
    this.#untilOf.set(userId, until)
    return isNew
  }

  isOnline(userId: string): boolean {
    return this.#untilOf.has(userId)
  }

  forget(userId: string): void {
    this.#untilOf.delete(userId)
  }

  expire(now: number): string[] {
    const ended = [...this.#untilOf].flatMap(([userId, until]) => (until <= now ? [userId] : []))
    for (const userId of ended) this.#untilOf.delete(userId)
    return ended
  }

  /** After the user is recorded: later reports are sent to the sockets. */
  onlineIds(): string[] {
    return [...this.#untilOf.keys()]
  }
}
