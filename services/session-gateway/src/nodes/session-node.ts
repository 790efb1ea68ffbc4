import type { Subscription } from '@gatehouse/bus'
import { presenceChanged } from '@gatehouse/contracts'
import { changeRows } from '@gatehouse/database'
import type { Deps, OperationContext } from '../deps.ts'
import { deadMark } from './dead-nodes.ts'

type NodeDeps = Pick<OperationContext, 'orm' | 'random' | 'log'> & Pick<Deps, 'bus' | 'deliverPresence'>

/**
 * This process as a row of `session_nodes`: while its heartbeats are fresh, the users recorded under its id count as
 * online. Presence changes that other nodes address to the id are received.
 */
export class SessionNode implements AsyncDisposable {
  readonly #deps: NodeDeps
  #id = ''
  #receiving: { as: string; subscription: Subscription } | undefined
  #beating: Promise<void> | undefined

  constructor(deps: NodeDeps) {
    this.#deps = deps
  }

  get id(): string {
    return this.#id
  }

  /** Becomes a new node, without users. Its broadcasts are received before anything is recorded under its id. */
  async register(): Promise<void> {
    const id = this.#deps.random.uuid()
    await changeRows(this.#deps.orm.em.fork(), 'insert into session_nodes (id) values (?)', [id])
    await this.#receiveAs(id)
    this.#id = id
  }

  /** Renews the row, or registers the process again when the row was marked dead. */
  async heartbeat(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => (this.#beating = undefined))
    await this.#beating
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#receiving?.subscription[Symbol.asyncDispose]()
  }

  async #beat(): Promise<void> {
    const renewal = `update session_nodes set seen_at = now() where id = ? and seen_at > ${deadMark}`
    if ((await changeRows(this.#deps.orm.em.fork(), renewal, [this.#id])) === 1) await this.#receiveAs(this.#id)
    else await this.register()
  }

  /** Without the bus, presence is recorded all the same; the subscription is tried again at each heartbeat. */
  async #receiveAs(as: string): Promise<void> {
    if (this.#receiving?.as === as) return
    const { bus, deliverPresence, log } = this.#deps
    try {
      const receive = async ({ payload }: { payload: Parameters<typeof deliverPresence>[0] }) =>
        deliverPresence(payload)
      const subscription = await bus.onBroadcast(presenceChanged, receive, { as })
      const outdated = this.#receiving
      this.#receiving = { as, subscription }
      await outdated?.subscription[Symbol.asyncDispose]()
    } catch (err) {
      log.warn({ err }, 'presence subscription failed')
    }
  }
}

/** Registers this process; its users are recorded under the id of the node. */
export async function registerNode(deps: NodeDeps): Promise<SessionNode> {
  const node = new SessionNode(deps)
  await node.register()
  return node
}
