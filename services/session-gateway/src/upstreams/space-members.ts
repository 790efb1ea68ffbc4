import { bigintArray, read } from '@gatehouse/database'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'

type Members = readonly string[]

/** Keeps nothing. One statement at a time uses at most one database connection. */
export class SpaceMembers {
  readonly #deps: Pick<OperationContext, 'orm'>
  readonly #asked = new Map<string, PromiseWithResolvers<Members>>()
  #isReading = false

  constructor(deps: Pick<OperationContext, 'orm'>) {
    this.#deps = deps
  }

  /** The members at a moment after the call. Rejects when the database cannot be read. */
  list(spaceId: string): Promise<Members> {
    const asked = this.#asked.get(spaceId) ?? Promise.withResolvers<Members>()
    this.#asked.set(spaceId, asked)
    if (!this.#isReading) void this.#read()
    return asked.promise
  }

  async #read(): Promise<void> {
    this.#isReading = true
    while (this.#asked.size > 0) {
      const batch = [...this.#asked].slice(0, policy.spacesPerStatement)
      for (const [spaceId] of batch) this.#asked.delete(spaceId)
      try {
        const members = await this.#select(batch.map(([spaceId]) => spaceId))
        for (const [spaceId, { resolve }] of batch) resolve(members.get(spaceId) ?? [])
      } catch (error) {
        for (const [, { reject }] of batch) reject(error)
      }
    }
    this.#isReading = false
  }

  async #select(spaceIds: readonly string[]): Promise<Map<string, Members>> {
    const sql = `select space_id::text as id, string_agg(user_id::text, ',') as members
      from space_members where space_id = any(?::bigint[]) group by space_id`
    const rows = await read<{ id: string; members: string }>(this.#deps.orm.em.fork(), sql, [bigintArray(spaceIds)])
    return new Map(rows.map(({ id, members }) => [id, members.split(',')]))
  }
}
