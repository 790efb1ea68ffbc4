import type { PresencesMessage } from '@gatehouse/contracts'
import { releaseBacklog, sendText } from '../connection/send-text.ts'
import { encodeError, encodeMessage } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'
import { findCurrentState, type AuthenticatedSocket, type CallerDeps } from '../sessions/session-registry.ts'
import type { UpstreamPresences } from './upstream-audience.ts'
import type { PresenceStore } from './presence-store.ts'
import type { RemotePresences } from './remote-presences.ts'

type WatchDeps = CallerDeps &
  Pick<OperationContext, 'log' | 'sessionMetrics'> & {
    store: Pick<PresenceStore, 'findVisible'>
    remotePresences: Pick<RemotePresences, 'isOnline'>
    upstreamPresences: Pick<UpstreamPresences, 'visibleTo'>
  }

const revoked = encodeError('token_revoked', { requestType: 'watch' })
const unavailable = encodeError('service_unavailable', { requestType: 'watch' })

/** A client of a large space asks for those whom it shows. docs/live.md */
export class PresenceWatch {
  readonly #deps: WatchDeps
  readonly #answering = new WeakMap<AuthenticatedSocket, readonly string[]>()

  constructor(deps: WatchDeps) {
    this.#deps = deps
  }

  /** Changes that come before the answer wait for it. */
  replace(socket: AuthenticatedSocket, userIds: readonly string[]): void {
    socket.watched = new Set(userIds)
    const isAnswering = this.#answering.has(socket)
    this.#answering.set(socket, userIds)
    if (!isAnswering) void this.#answer(socket)
  }

  async #answer(socket: AuthenticatedSocket): Promise<void> {
    let answered: readonly string[] | undefined
    let message = unavailable
    // A newer message replaces the one that is being answered.
    while (answered !== this.#answering.get(socket) && socket.phase === 'ready') {
      answered = this.#answering.get(socket) ?? []
      socket.backlog ??= []
      message = await this.#read(socket, answered)
    }
    this.#answering.delete(socket)
    if (socket.phase !== 'ready') return
    sendText(this.#deps, socket, message)
    releaseBacklog(this.#deps, socket)
  }

  async #read(socket: AuthenticatedSocket, userIds: readonly string[]): Promise<Buffer> {
    const { log, store, remotePresences, upstreamPresences } = this.#deps
    try {
      if (!(await findCurrentState(this.#deps, socket))) return revoked
      const reported = userIds.filter((id) => remotePresences.isOnline(id))
      const { id: userId } = socket.session.user
      const [online, seen] = await Promise.all([
        store.findVisible(userId, { userIds, alsoOnline: reported }),
        upstreamPresences.visibleTo(userId),
      ])
      const visible = [...online, ...userIds.filter((id) => seen.has(id))]
      const presences = Object.fromEntries(visible.map((id) => [id, 'online' as const]))
      return encodeMessage({ type: 'presences', presences } satisfies PresencesMessage)
    } catch (err) {
      log.warn({ err }, 'watched presences not read')
      return unavailable
    }
  }
}
