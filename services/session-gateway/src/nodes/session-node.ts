import { changeRows } from '@gatehouse/database'
import type { OperationContext } from '../deps.ts'
import { deadMark } from './dead-nodes.ts'

type NodeDeps = Pick<OperationContext, 'orm' | 'random'>

/**
 * This process as a row of `session_nodes`: while its heartbeats are fresh, the users recorded under its id count as
 * online.
 */
export class SessionNode {
  readonly #deps: NodeDeps
  #id = ''
  #beating: Promise<void> | undefined

  constructor(deps: NodeDeps) {
    this.#deps = deps
  }

  get id(): string {
    return this.#id
  }

  /** Becomes a new node, without users. */
  async register(): Promise<void> {
    const id = this.#deps.random.uuid()
    await changeRows(this.#deps.orm.em.fork(), 'insert into session_nodes (id) values (?)', [id])
    this.#id = id
  }

  /** Renews the row, or registers the process again when the row was marked dead. */
  async heartbeat(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => (this.#beating = undefined))
    await this.#beating
  }

  async #beat(): Promise<void> {
    const renewal = `update session_nodes set seen_at = now() where id = ? and seen_at > ${deadMark}`
    if ((await changeRows(this.#deps.orm.em.fork(), renewal, [this.#id])) === 0) await this.register()
  }
}

/** Registers this process; its users are recorded under the id of the node. */
export async function registerNode(deps: NodeDeps): Promise<SessionNode> {
  const node = new SessionNode(deps)
  await node.register()
  return node
}
