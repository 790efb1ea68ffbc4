import type { PresencesMessage } from '@gatehouse/contracts'
import { releaseBacklog, sendText } from '../connection/send-text.ts'
import { encodeMessage, watchRefusals } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'
import { findCurrentState, type AuthenticatedSocket, type CallerDeps } from '../sessions/session-registry.ts'
import type { RemotePresences } from './presence-feed.ts'
import type { PresenceStore } from './presence-store.ts'
import type { UpstreamPresences } from './upstream-audience.ts'

type WatchDeps = CallerDeps &
  Pick<OperationContext, 'log' | 'sessionMetrics'> & {
    presenceStore: PresenceStore
    remotePresences: RemotePresences
    upstreamPresences: UpstreamPresences
  }

export type PresenceWatch = ReturnType<typeof createPresenceWatch>

/** A client of a large space asks for those whom it shows. docs/reference/sockets.md */
export function createPresenceWatch(deps: WatchDeps) {
  const answering = new WeakMap<AuthenticatedSocket, readonly string[]>()

  async function answer(socket: AuthenticatedSocket): Promise<void> {
    let answeredIds: readonly string[] | undefined
    let message = watchRefusals.unavailable
    // A newer message replaces the one that is being answered.
    while (answeredIds !== answering.get(socket) && socket.phase === 'ready') {
      answeredIds = answering.get(socket) ?? []
      socket.backlog ??= []
      message = await readPresences(deps, socket, answeredIds)
    }
    answering.delete(socket)
    if (socket.phase !== 'ready') return
    sendText(deps, socket, message)
    releaseBacklog(deps, socket)
  }

  return {
    /** Changes that come before the answer wait for it. */
    replace(socket: AuthenticatedSocket, userIds: readonly string[]): void {
      socket.watched = new Set(userIds)
      const isAnswering = answering.has(socket)
      answering.set(socket, userIds)
      if (!isAnswering) void answer(socket)
    },
  }
}

async function readPresences(deps: WatchDeps, socket: AuthenticatedSocket, ids: readonly string[]): Promise<Buffer> {
  const { log, presenceStore, remotePresences, upstreamPresences } = deps
  try {
    const { id: userId } = socket.session.user
    if (!(await findCurrentState(deps, socket))) return watchRefusals.revoked
    const [online, seenThroughUpstreams] = await Promise.all([
      presenceStore.findVisible(userId, { userIds: ids, alsoOnline: ids.filter(remotePresences.isOnline) }),
      upstreamPresences.visibleTo(userId),
    ])
    const visible = [...online, ...ids.filter((id) => seenThroughUpstreams.has(id))]
    const presences = Object.fromEntries(visible.map((id) => [id, 'online' as const]))
    return encodeMessage({ type: 'presences', presences } satisfies PresencesMessage)
  } catch (err) {
    log.warn({ err }, 'watched presences not read')
    return watchRefusals.unavailable
  }
}
