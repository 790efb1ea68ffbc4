import { DatabaseUnavailable, changeRows, read } from '@gatehouse/database'
import { withTimeout, type Timer } from '@gatehouse/runtime'
import type { OperationContext } from '../context.ts'

/** No heartbeat renews it. The row stays until its users are evicted. */
export const deadMark = "'-infinity'::timestamptz"

type NodeDeps = Pick<OperationContext, 'orm' | 'random' | 'timer' | 'timings'>

const heartbeatsInSilence = 4

/** Users recorded under its id count as online while its heartbeats are fresh. */
export class SessionNode {
  readonly #deps: NodeDeps
  #id = ''
  #renewedAt = 0
  #beating: Promise<void> | undefined

  constructor(deps: NodeDeps) {
    this.#deps = deps
  }

  get id(): string {
    return this.#id
  }

  /** False when another node may count it as dead. */
  isFresh(): boolean {
    const { timer, timings } = this.#deps
    return timer.now() - this.#renewedAt < timings.nodeSilenceMs
  }

  async register(): Promise<void> {
    const { random, timer } = this.#deps
    const id = random.uuid()
    const startedAt = timer.now()
    await this.#change('insert into session_nodes (id) values (?)', id)
    this.#id = id
    this.#renewedAt = startedAt
  }

  /** Registers again when the row was marked dead. */
  async heartbeat(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => (this.#beating = undefined))
    await this.#beating
  }

  async #beat(): Promise<void> {
    const startedAt = this.#deps.timer.now()
    const renewal = `update session_nodes set seen_at = now() where id = ? and seen_at > ${deadMark}`
    if ((await this.#change(renewal, this.#id)) === 0) await this.register()
    else this.#renewedAt = startedAt
  }

  /** The next heartbeat uses another connection than a silent one. */
  async #change(sql: string, id: string): Promise<number> {
    const { orm, timings } = this.#deps
    const late = () => new DatabaseUnavailable('no answer to the heartbeat in time')
    return await withTimeout(changeRows(orm.em.fork(), sql, [id]), timings.nodeSilenceMs / heartbeatsInSilence, late)
  }
}

export async function registerNode(deps: NodeDeps): Promise<SessionNode> {
  const node = new SessionNode(deps)
  await node.register()
  return node
}

/** Leaves dead nodes out. */
export async function listOtherNodes({
  orm,
  node,
  timings,
}: Pick<OperationContext, 'orm' | 'timings'> & { node: { readonly id: string } }): Promise<string[]> {
  const sql = `select id::text from session_nodes where id <> ? and seen_at > now() - ? * interval '1 millisecond'`
  const rows = await read<{ id: string }>(orm.em.fork(), sql, [node.id, timings.nodeSilenceMs])
  return rows.map(({ id }) => id)
}

/** While the database was away, silence of other nodes says nothing. */
export class HeartbeatHistory {
  readonly #timer: Timer
  readonly #silenceMs: number
  #interruptedAt: number

  constructor(timer: Timer, silenceMs: number) {
    this.#timer = timer
    this.#silenceMs = silenceMs
    this.#interruptedAt = timer.now()
  }

  /** A slow heartbeat counts as an interruption. */
  async observe(heartbeat: () => Promise<void>): Promise<void> {
    const startedAt = this.#timer.now()
    try {
      await heartbeat()
    } catch (error) {
      this.#interruptedAt = this.#timer.now()
      throw error
    }
    if (this.#timer.now() - startedAt > this.#silenceMs) this.#interruptedAt = this.#timer.now()
  }

  isComplete(): boolean {
    return this.#timer.now() - this.#interruptedAt >= this.#silenceMs
  }
}
