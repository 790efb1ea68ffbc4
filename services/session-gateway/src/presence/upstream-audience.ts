import type { AudienceGroup } from '@gatehouse/contracts'
import { bigintArray, read } from '@gatehouse/database'
import { delay, withTimeout } from '@gatehouse/runtime'
import type { UpstreamQuestions } from '@gatehouse/service-kit'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import type { Audience } from './audience.ts'
import type { RemotePresences } from './remote-presences.ts'

type AskedUpstream = { readonly name: string }

export type AudienceDeps = Pick<OperationContext, 'orm' | 'log' | 'timer' | 'timings'> & {
  upstreams: { readonly withAudience: readonly AskedUpstream[] }
  questions: Pick<UpstreamQuestions, 'ask'>
}

const nobody: ReadonlySet<string> = new Set()

/** Handshakes of the same moment share a question. docs/integrating.md, `audience`. */
export class UpstreamPresences {
  readonly #deps: AudienceDeps & { remotePresences: Pick<RemotePresences, 'isOnline'> }
  #waiting = new Map<string, PromiseWithResolvers<ReadonlySet<string>>>()

  constructor(deps: AudienceDeps & { remotePresences: Pick<RemotePresences, 'isOnline'> }) {
    this.#deps = deps
  }

  /** Who is online and shares something with the user. Resolves within the deadline of `ready`; never rejects. */
  async visibleTo(userId: string): Promise<ReadonlySet<string>> {
    const { log, timer, timings, upstreams } = this.#deps
    if (upstreams.withAudience.length === 0) return nobody
    if (this.#waiting.size === 0) timer.set(() => this.#flush(), timings.gatherMs)
    const waiting = this.#waiting.get(userId) ?? Promise.withResolvers<ReadonlySet<string>>()
    this.#waiting.set(userId, waiting)
    if (this.#waiting.size >= policy.usersPerQuestion) this.#flush()
    const late = () => new Error('the audience did not come in time')
    return await withTimeout(waiting.promise, timings.readyPartsMs, late).catch((err: unknown) => {
      log.debug({ err }, 'presences of further services left out')
      return nobody
    })
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = new Map()
    if (waiting.size === 0) return
    this.#read([...waiting.keys()]).then(
      (visible) => waiting.forEach(({ resolve }, userId) => resolve(visible.get(userId) ?? nobody)),
      (error: unknown) => waiting.forEach(({ reject }) => reject(error)),
    )
  }

  async #read(userIds: readonly string[]): Promise<Map<string, Set<string>>> {
    const { orm, questions, remotePresences, timings, upstreams } = this.#deps
    const within = { timeoutMs: timings.audienceMs }
    const ask = async ({ name }: AskedUpstream) =>
      (await questions.ask(name, 'audience', { users: userIds }, within))?.groups
    const groups = (await Promise.all(upstreams.withAudience.map(ask))).flatMap((answer) => answer ?? [])
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
}

type Told<C> = { change: C; until: number }

/** Of each user the last change counts. An upstream that does not answer holds back its own audience only, for 30 s at most. */
export class UpstreamAudience<C extends { userId: string }> implements Disposable {
  readonly #deps: AudienceDeps
  readonly #send: (changes: readonly C[], audience: Audience) => void
  readonly #latest = new Map<AskedUpstream, Map<string, Told<C>>>()

  constructor(deps: AudienceDeps, send: (changes: readonly C[], audience: Audience) => void) {
    this.#deps = deps
    this.#send = send
  }

  tell(changes: readonly C[]): void {
    const { timer, timings, upstreams } = this.#deps
    for (const upstream of changes.length > 0 ? upstreams.withAudience : []) {
      const latest = this.#latest.get(upstream) ?? new Map<string, Told<C>>()
      for (const change of changes) {
        const told = { change, until: timer.now() + timings.lateReadyPartMs }
        if (latest.has(change.userId) || latest.size < policy.profileUpdates) latest.set(change.userId, told)
      }
      if (this.#latest.has(upstream)) continue
      this.#latest.set(upstream, latest)
      void this.#run(upstream, latest)
    }
  }

  forget(userId: string): void {
    for (const latest of this.#latest.values()) latest.delete(userId)
  }

  [Symbol.dispose](): void {
    for (const latest of this.#latest.values()) latest.clear()
  }

  async #run(upstream: AskedUpstream, latest: Map<string, Told<C>>): Promise<void> {
    const { timer, timings, upstreams } = this.#deps
    while (latest.size > 0 && upstreams.withAudience.includes(upstream)) {
      const batch = [...latest.values()].slice(0, policy.usersPerQuestion * policy.audienceQuestionsAtOnce)
      const parts = Array.from({ length: Math.ceil(batch.length / policy.usersPerQuestion) }, (_, part) =>
        batch.slice(part * policy.usersPerQuestion, (part + 1) * policy.usersPerQuestion),
      )
      const answered = await Promise.all(parts.map((part) => this.#tellPart(upstream, latest, part)))
      if (answered.includes(false)) await delay(timer, timings.readyPartRetryMs)
    }
    this.#latest.delete(upstream)
  }

  /** False: not answered. Never rejects. */
  async #tellPart({ name }: AskedUpstream, latest: Map<string, Told<C>>, part: readonly Told<C>[]): Promise<boolean> {
    const { questions, timer, timings } = this.#deps
    const asked = { users: part.map(({ change }) => change.userId) }
    const answer = await questions.ask(name, 'audience', asked, { timeoutMs: timings.audienceMs })
    const isCurrent = (told: Told<C>) => latest.get(told.change.userId) === told
    const ended = part.filter((told) => isCurrent(told) && (answer !== undefined || told.until <= timer.now()))
    for (const { change } of ended) latest.delete(change.userId)
    if (answer && ended.length > 0) {
      this.#send(
        ended.map(({ change }) => change),
        audienceOf(answer.groups),
      )
    }
    return answer !== undefined
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
