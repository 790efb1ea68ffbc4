import { snowflake } from '@gatehouse/contracts'
import { bigintArray, read } from '@gatehouse/database'
import type { UpstreamQuestions } from '@gatehouse/service-kit'
import { LRUCache } from 'lru-cache'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import type { LiveUpstream } from './upstream-set.ts'

type Members = readonly string[]

type MembersDeps = Pick<OperationContext, 'orm'> & { questions: Pick<UpstreamQuestions, 'ask'> }

/** Keeps nothing of the table. One statement at a time uses at most one database connection. */
export class SpaceMembers {
  readonly #deps: MembersDeps
  readonly #asked = new Map<string, PromiseWithResolvers<Members>>()
  #isReading = false
  /** What upstreams answered, and what they are being asked. */
  readonly #answers = new LRUCache<string, { ids: Members }>({
    ttl: policy.upstreamMembersMs,
    maxSize: policy.rememberedMembers,
    sizeCalculation: ({ ids }) => ids.length + 1,
  })
  readonly #asking = new Map<string, Promise<Members | undefined>>()

  constructor(deps: MembersDeps) {
    this.#deps = deps
  }

  /** Undefined: its upstream does not answer. Rejects when the database cannot be read. docs/integrating.md, `members`. */
  async find(upstream: LiveUpstream, spaceId: string): Promise<Members | undefined> {
    const own = snowflake.safeParse(spaceId).success ? await this.#list(spaceId) : []
    if (own.length > 0 || !upstream.definition.answers.includes('members')) return own
    const key = `${upstream.name} ${spaceId}`
    const known = this.#answers.get(key)
    if (known) return known.ids
    const asking = this.#asking.get(key) ?? this.#ask(upstream, spaceId, key)
    this.#asking.set(key, asking)
    return await asking
  }

  async #ask({ name }: LiveUpstream, spaceId: string, key: string): Promise<Members | undefined> {
    const ids = (await this.#deps.questions.ask(name, 'members', { space: spaceId }))?.members
    this.#asking.delete(key)
    if (ids) this.#answers.set(key, { ids })
    return ids
  }

  /** The members at a moment after the call. */
  #list(spaceId: string): Promise<Members> {
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
