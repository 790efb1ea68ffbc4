import { bigintArray, read } from '@gatehouse/database'
import { delay, withTimeout, coalesce } from '@gatehouse/runtime'
import type { AudienceGroup, UpstreamQuestions } from '@gatehouse/upstreams'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import type { Audience } from './audience.ts'

type AskedUpstream = { readonly name: string }

export type AudienceDeps = Pick<OperationContext, 'orm' | 'log' | 'timer' | 'timings'> & {
  upstreams: { readonly withAudience: readonly AskedUpstream[] }
  questions: Pick<UpstreamQuestions, 'ask'>
}

type PresencesDeps = AudienceDeps & { remotePresences: { isOnline(userId: string): boolean } }

const nobody: ReadonlySet<string> = new Set()

export type UpstreamPresences = ReturnType<typeof createUpstreamPresences>

/** Handshakes of the same moment share a question. docs/integrate/ask-and-answer.md, `audience`. */
export function createUpstreamPresences(deps: PresencesDeps) {
  const { log, orm, questions, remotePresences, timer, timings, upstreams } = deps
  const gather = { most: policy.usersPerQuestion, until: () => delay(timer, timings.gatherMs) }
  const findVisible = coalesce(async (userIds) => [...(await readVisible(userIds))], gather)

  async function readVisible(userIds: readonly string[]): Promise<Map<string, Set<string>>> {
    const within = { timeoutMs: timings.audienceMs }
    const ask = async ({ name }: AskedUpstream) =>
      (await questions.ask(name, 'audience', { users: userIds }, within))?.groups ?? []
    const groups = (await Promise.all(upstreams.withAudience.map(ask))).flat()
    const ids = [...new Set(groups.flatMap(({ audience }) => audience))]
    const sql = 'select distinct user_id::text as id from presences where user_id = any(?::bigint[])'
    const limits = { statementMs: timings.databaseLimitMs, workMem: policy.audienceWorkMem }
    const rows = ids.length === 0 ? [] : await read<{ id: string }>(orm.em, sql, [bigintArray(ids)], limits)
    const online = new Set(rows.map(({ id }) => id))
    const visible = new Map(userIds.map((userId) => [userId, new Set<string>()]))
    for (const { users, audience } of groups) {
      const present = audience.filter((id) => online.has(id) || remotePresences.isOnline(id))
      for (const userId of users) for (const id of present) visible.get(userId)?.add(id)
    }
    return visible
  }

  return {
    /** Who is online and shares something with the user. Resolves within the deadline of `ready`; never rejects. */
    async visibleTo(userId: string): Promise<ReadonlySet<string>> {
      if (upstreams.withAudience.length === 0) return nobody
      const late = () => new Error('the audience did not come in time')
      const visible = await withTimeout(findVisible(userId), timings.readyPartsMs, late).catch((err: unknown) => {
        log.debug({ err }, 'presences of further services left out')
        return undefined
      })
      return visible ?? nobody
    },
  }
}

type PendingChange<C> = { change: C; until: number }

export type UpstreamAudience<C extends { userId: string }> = ReturnType<typeof createUpstreamAudience<C>>

/** Of each user the last change counts. An upstream that does not answer holds back its own audience only, for 30 s at most. */
export function createUpstreamAudience<C extends { userId: string }>(
  { questions, timer, timings, upstreams }: AudienceDeps,
  send: (changes: readonly C[], audience: Audience) => void,
) {
  const latestOf = new Map<AskedUpstream, Map<string, PendingChange<C>>>()

  async function run(upstream: AskedUpstream, latest: Map<string, PendingChange<C>>): Promise<void> {
    const { usersPerQuestion: size, audienceQuestionsAtOnce } = policy
    while (latest.size > 0 && upstreams.withAudience.includes(upstream)) {
      const batch = [...latest.values()].slice(0, size * audienceQuestionsAtOnce)
      const parts = Array.from({ length: Math.ceil(batch.length / size) }, (_, part) =>
        batch.slice(part * size, (part + 1) * size),
      )
      const results = await Promise.all(parts.map((part) => tellPart(upstream, latest, part)))
      if (results.includes(false)) await delay(timer, timings.readyPartRetryMs)
    }
    latestOf.delete(upstream)
  }

  /** False: not answered. Never rejects. */
  async function tellPart(
    { name }: AskedUpstream,
    latest: Map<string, PendingChange<C>>,
    part: readonly PendingChange<C>[],
  ) {
    const question = { users: part.map(({ change }) => change.userId) }
    const answer = await questions.ask(name, 'audience', question, { timeoutMs: timings.audienceMs })
    const isCurrent = (pending: PendingChange<C>) => latest.get(pending.change.userId) === pending
    const ended = part.filter((pending) => isCurrent(pending) && (answer !== undefined || pending.until <= timer.now()))
    for (const { change } of ended) latest.delete(change.userId)
    const changes = ended.map(({ change }) => change)
    if (answer && changes.length > 0) send(changes, audienceOf(answer.groups))
    return answer !== undefined
  }

  return {
    tell(changes: readonly C[]): void {
      for (const upstream of changes.length > 0 ? upstreams.withAudience : []) {
        const latest = latestOf.get(upstream) ?? new Map<string, PendingChange<C>>()
        for (const change of changes) {
          const pending = { change, until: timer.now() + timings.lateReadyPartMs }
          if (latest.has(change.userId) || latest.size < policy.profileUpdates) latest.set(change.userId, pending)
        }
        if (latestOf.has(upstream)) continue
        latestOf.set(upstream, latest)
        void run(upstream, latest)
      }
    },
    forget(userId: string): void {
      for (const latest of latestOf.values()) latest.delete(userId)
    },
    [Symbol.dispose](): void {
      for (const latest of latestOf.values()) latest.clear()
    },
  }
}

/** Each group is like a space. */
function audienceOf(groups: readonly AudienceGroup[]): Audience {
  const spacesOf = new Map<string, string[]>()
  for (const [index, { users }] of groups.entries()) {
    for (const userId of new Set(users)) spacesOf.set(userId, [...(spacesOf.get(userId) ?? []), String(index)])
  }
  const membersOf = new Map(groups.map(({ audience }, index) => [String(index), [...new Set(audience)]]))
  return { spacesOf, membersOf, linkedTo: new Map() }
}
