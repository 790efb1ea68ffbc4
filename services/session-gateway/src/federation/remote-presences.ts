import { policy } from '../policy.ts'

/** What a peer reports of its user; `until` in milliseconds. */
export type RemotePresence = { userId: string; status: 'online' | 'offline'; until: number }

/**
 * Users who are online as their home instance reports, kept in the memory of each node until the report ends by time.
 * It is never the stored status. Contract: 6.
 */
export class RemotePresences {
  readonly #untilOf = new Map<string, number>()

  /** Takes a report; true when it changes the user's presence. */
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

  /** The account is gone. */
  forget(userId: string): void {
    this.#untilOf.delete(userId)
  }

  /** Removes the presences whose report has ended, and gives their users. */
  expire(now: number): string[] {
    const ended = [...this.#untilOf].flatMap(([userId, until]) => (until <= now ? [userId] : []))
    for (const userId of ended) this.#untilOf.delete(userId)
    return ended
  }

  /**
   * The users who are online by report. Take it when a handshake's user is recorded as connected: a report from then on
   * is sent to it.
   */
  onlineIds(): string[] {
    return [...this.#untilOf.keys()]
  }
}
