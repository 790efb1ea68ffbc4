import { listOpenSockets, socketsAsked, socketsTold, type OpenSocket } from '@gatehouse/contracts'
import { shareWork } from '@gatehouse/runtime'
import type { OperationContext } from '../context.ts'
import { listOtherNodes } from '../nodes/session-node.ts'
import type { SessionRegistry } from './session-registry.ts'

type ListDeps = Pick<OperationContext, 'bus' | 'orm' | 'random' | 'log' | 'timer' | 'timings'> & {
  sessions: Pick<SessionRegistry, 'find'>
  node: { readonly id: string }
}

/** `incomplete`: a live node has not answered in time. */
type SocketList = { sockets: OpenSocket[]; incomplete: boolean }

export type SocketLists = Awaited<ReturnType<typeof openSocketLists>>

/** Every node answers from memory. Contract: 3, sockets. */
export async function openSocketLists(deps: ListDeps) {
  const { bus, node, random, log, sessions, timer, timings } = deps
  const name = random.uuid()
  const questions = new Map<string, (nodeId: string, sockets: readonly OpenSocket[]) => void>()

  function ownSockets(userId: string): OpenSocket[] {
    const sockets = [...(sessions.find(userId)?.sockets ?? [])].filter(({ phase }) => phase === 'ready')
    return sockets.map(({ session, connectedAt, client }) => ({ sessionId: session.id, connectedAt, ...client }))
  }

  async function ask(userId: string, requestId: string): Promise<SocketList> {
    const questionId = random.uuid()
    const socketsByNode = new Map<string, readonly OpenSocket[]>()
    const ended = Promise.withResolvers<void>()
    let others: readonly string[] | undefined
    const isComplete = () => others !== undefined && others.every((id) => socketsByNode.has(id))
    const endIfComplete = () => (isComplete() ? ended.resolve() : undefined)
    questions.set(questionId, (nodeId, sockets) => {
      socketsByNode.set(nodeId, sockets)
      endIfComplete()
    })
    const limit = timer.set(ended.resolve, timings.socketListMs)
    void bus.publish(socketsAsked, { userId, questionId, askedBy: name }, { requestId })
    listOtherNodes(deps).then(
      (ids) => {
        others = ids
        endIfComplete()
      },
      (err: unknown) => log.warn({ err }, 'nodes could not be read for a list of sockets'),
    )
    await ended.promise
    timer.clear(limit)
    questions.delete(questionId)
    const sockets = [...ownSockets(userId), ...[...socketsByNode.values()].flat()]
    sockets.sort((one, other) => other.connectedAt - one.connectedAt)
    return { sockets, incomplete: !isComplete() }
  }

  /** Newest first. Resolves within `socketListMs`; never rejects. */
  const list = shareWork(ask)

  const subscriptions = [
    await bus.subscribe(
      socketsTold,
      async ({ payload: { questionId, nodeId, sockets } }) => questions.get(questionId)?.(nodeId, sockets),
      { as: name },
    ),
    await bus.respond(listOpenSockets, ({ userId }, { requestId = '' }) => list(userId, requestId)),
    await bus.subscribe(socketsAsked, async ({ payload: { userId, questionId, askedBy }, requestId }) => {
      if (askedBy === name) return
      const reply = { questionId, nodeId: node.id, sockets: ownSockets(userId) }
      void bus.publish(socketsTold, reply, { to: askedBy, requestId })
    }),
  ]
  return {
    list,
    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all(subscriptions.map((subscription) => subscription[Symbol.asyncDispose]()))
    },
  }
}
