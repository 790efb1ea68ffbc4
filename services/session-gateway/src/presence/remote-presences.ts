import { policy } from '../policy.ts'

/** `until` in milliseconds. */
export type RemotePresence = { userId: string; status: 'online' | 'offline'; until: number }

export type RemotePresences = ReturnType<typeof createRemotePresences>

/** Never stored. Contract: 6. */
export function createRemotePresences() {
  const untilOf = new Map<string, number>()
  return {
    /** True when the presence changes. */
    report({ userId, status, until }: RemotePresence, now: number): boolean {
      if (status === 'offline' || until <= now) return untilOf.delete(userId)
      const isNew = !untilOf.has(userId)
      if (isNew && untilOf.size >= policy.remotePresences) return false
      untilOf.set(userId, until)
      return isNew
    },
    isOnline: (userId: string) => untilOf.has(userId),
    forget: (userId: string) => untilOf.delete(userId),
    expire(now: number): string[] {
      const ended = [...untilOf].flatMap(([userId, until]) => (until <= now ? [userId] : []))
      for (const userId of ended) untilOf.delete(userId)
      return ended
    },
    /** After the user is recorded: later reports are sent to the sockets. */
    onlineIds: () => [...untilOf.keys()],
  }
}
