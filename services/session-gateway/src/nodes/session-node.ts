import { changeRows, DatabaseUnavailable } from '@gatehouse/database'
import { withTimeout } from '@gatehouse/runtime'
import type { OperationContext } from '../deps.ts'
import { deadMark } from './dead-nodes.ts'

type NodeDeps = Pick<OperationContext, 'orm' | 'random' | 'timer' | 'timings'>

/** Heartbeats that fit, one after another, into the time after which a silent node counts as dead. */
const heartbeatsInSilence = 4

/**
 * This process as a row of `session_nodes`: while its heartbeats are fresh, the users recorded under its id count as
 * online.
 */
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

  /** Whether its last heartbeat is recent enough that no other node counts it as dead. */
  isFresh(): boolean {
    const { timer, timings } = this.#deps
    return timer.now() - this.#renewedAt < timings.nodeSilenceMs
  }

  /** Becomes a new node, without users. */
  async register(): Promise<void> {
    const { random, timer } = this.#deps
    const id = random.uuid()
    const startedAt = timer.now()
    await this.#change('insert into session_nodes (id) values (?)', id)
    this.#id = id
    this.#renewedAt = startedAt
  }

  /** Renews the row, or registers the process again when the row was marked dead. */
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

  /** A statement whose connection may have gone silent is not waited for: the next heartbeat has another one. */
  async #change(sql: string, id: string): Promise<number> {
    const { orm, timings } = this.#deps
    const late = () => new DatabaseUnavailable('no answer to the heartbeat in time')
    return await withTimeout(changeRows(orm.em.fork(), sql, [id]), timings.nodeSilenceMs / heartbeatsInSilence, late)
  }
}

/** Registers this process; its users are recorded under the id of the node. */
export async function registerNode(deps: NodeDeps): Promise<SessionNode> {
  const node = new SessionNode(deps)
  await node.register()
  return node
}
