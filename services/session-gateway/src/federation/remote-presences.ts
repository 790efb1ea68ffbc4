import { bigintArray, selectRows } from '@gatehouse/database'
import type { OperationContext } from '../deps.ts'
import { policy } from '../policy.ts'

/** What a peer reports of its user; `until` in milliseconds. */
export type RemotePresence = { userId: string; status: 'online' | 'offline'; until: number }

/**
 * Users who are online as their home instance reports, kept in the memory of each node until the report ends by time.
 * It is never the stored status. Contract: 6.
 */
export class RemotePresences {
  readonly #orm: OperationContext['orm']
  readonly #untilOf = new Map<string, number>()

  constructor({ orm }: Pick<OperationContext, 'orm'>) {
    this.#orm = orm
  }

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
   * For each of the users, those whom they see and who are online by report. Read it when the users are recorded as
   * connected: a report from then on is sent to them.
   */
  async readVisibleTo(userIds: readonly string[]): Promise<Map<string, string[]>> {
    if (this.#untilOf.size === 0 || userIds.length === 0) return new Map()
    const rows = await selectRows<{ user_id: string; seen: string }>(
      this.#orm.em.fork(),
      `with input as materialized (select ?::bigint[] as ids, ?::bigint[] as remote), visible as (
         select user_id, friend_id as seen from friendships, input where user_id = any(ids) and friend_id = any(remote)
         union
         select friend_id, user_id from friendships, input where friend_id = any(ids) and user_id = any(remote)
         union
         select mine.user_id, theirs.user_id from input, dm_members mine join dm_members theirs using (channel_id)
         where mine.user_id = any(ids) and theirs.user_id = any(remote)
         union
         select mine.user_id, theirs.user_id from input, space_members mine join space_members theirs using (space_id)
         where mine.user_id = any(ids) and theirs.user_id = any(remote)
       )
       select user_id::text, string_agg(seen::text, ',') as seen from visible group by 1`,
      [bigintArray(userIds), bigintArray([...this.#untilOf.keys()])],
    )
    return new Map(rows.map((row) => [row.user_id, row.seen.split(',')]))
  }
}
