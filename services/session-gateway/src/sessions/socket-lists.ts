import type { Bus, Subscription } from '@gatehouse/bus'
import { listOpenSockets, socketsAsked, socketsTold, type OpenSocket } from '@gatehouse/contracts'
import type { OperationContext } from '../context.ts'
import { listOtherNodes } from '../nodes/session-node.ts'
import type { SessionRegistry } from './session-registry.ts'

type ListDeps = Pick<OperationContext, 'orm' | 'random' | 'log' | 'timer' | 'timings'> & {
  bus: Pick<Bus, 'publish' | 'subscribe' | 'respond'>
  sessions: Pick<SessionRegistry, 'find'>
  node: { readonly id: string }
}

/** `incomplete`: a live node has not answered in time. */
export type SocketList = { sockets: OpenSocket[]; incomplete: boolean }

type Tell = (nodeId: string, sockets: readonly OpenSocket[]) => void

/** Every node answers from memory. Contract: 3, sockets. */
export class SocketLists implements AsyncDisposable {
  readonly #deps: ListDeps
  readonly #name: string
  readonly #subscriptions: Subscription[] = []
  readonly #questions = new Map<string, Tell>()
  /** Requests of one account share a question to the other nodes. */
  readonly #asked = new Map<string, Promise<SocketList>>()

  constructor(deps: ListDeps) {
    this.#deps = deps
    this.#name = deps.random.uuid()
  }

  async subscribe(): Promise<void> {
    const { bus } = this.#deps
    this.#subscriptions.push(
      await bus.subscribe(
        socketsTold,
        async ({ payload }) => this.#questions.get(payload.questionId)?.(payload.nodeId, payload.sockets),
        { as: this.#name },
      ),
      await bus.respond(listOpenSockets, ({ userId }, { requestId = '' }) => this.list(userId, requestId)),
      await bus.subscribe(socketsAsked, async ({ payload, requestId }) => this.#answer(payload, requestId)),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#subscriptions.map((subscription) => subscription[Symbol.asyncDispose]()))
  }

  /** Newest first. Resolves within `socketListMs`; never rejects. */
  async list(userId: string, requestId: string): Promise<SocketList> {
    const asked = this.#asked.get(userId) ?? this.#ask(userId, requestId).finally(() => this.#asked.delete(userId))
    this.#asked.set(userId, asked)
    return await asked
  }

  #answer(
    { userId, questionId, askedBy }: { userId: string; questionId: string; askedBy: string },
    requestId: string | undefined,
  ): void {
    if (askedBy === this.#name) return
    const { bus, node } = this.#deps
    const told = { questionId, nodeId: node.id, sockets: this.#ownSockets(userId) }
    void bus.publish(socketsTold, told, { to: askedBy, requestId })
  }

  async #ask(userId: string, requestId: string): Promise<SocketList> {
    const { bus, random, log, timer, timings } = this.#deps
    const questionId = random.uuid()
    const told = new Map<string, readonly OpenSocket[]>()
    const ended = Promise.withResolvers<void>()
    let others: readonly string[] | undefined
    const isComplete = () => others !== undefined && others.every((id) => told.has(id))
    const endIfComplete = () => (isComplete() ? ended.resolve() : undefined)
    this.#questions.set(questionId, (nodeId, sockets) => {
      told.set(nodeId, sockets)
      endIfComplete()
    })
    const limit = timer.set(ended.resolve, timings.socketListMs)
    void bus.publish(socketsAsked, { userId, questionId, askedBy: this.#name }, { requestId })
    listOtherNodes(this.#deps).then(
      (ids) => {
        others = ids
        endIfComplete()
      },
      (err: unknown) => log.warn({ err }, 'nodes could not be read for a list of sockets'),
    )
    await ended.promise
    timer.clear(limit)
    this.#questions.delete(questionId)
    const sockets = [...this.#ownSockets(userId), ...[...told.values()].flat()]
    sockets.sort((one, other) => other.connectedAt - one.connectedAt)
    return { sockets, incomplete: !isComplete() }
  }

  #ownSockets(userId: string): OpenSocket[] {
    const sockets = [...(this.#deps.sessions.find(userId)?.sockets ?? [])].filter(({ phase }) => phase === 'ready')
    return sockets.map(({ session, connectedAt, client }) => ({ sessionId: session.id, connectedAt, ...client }))
  }
}

export async function openSocketLists(deps: ListDeps): Promise<SocketLists> {
  const lists = new SocketLists(deps)
  await lists.subscribe()
  return lists
}
