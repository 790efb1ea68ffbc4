import type { Bus, Subscription } from '@gatehouse/bus'
import { durableEvents, unwatchMessage, watchMessage, type AdminChangedMessage } from '@gatehouse/contracts'
import { sendText } from '../connection/send-text.ts'
import type { SessionSocket } from '../connection/session-socket.ts'
import { encodeMessage } from '../connection/text-frame.ts'
import type { OperationContext } from '../context.ts'
import type { AuthenticatedSocket, SessionRegistry } from '../sessions/session-registry.ts'

const adminRequired = encodeMessage({ type: 'error', message: 'Admin access required', code: 'admin_required' })
const unknownTopic = encodeMessage({ type: 'error', message: 'Unknown topic', code: 'unknown_topic' })

/** Contract: 6, watch. */
export class AdminWatch {
  readonly #deps: Pick<OperationContext, 'sessionMetrics'>
  readonly #watchers = new Set<AuthenticatedSocket>()

  constructor(deps: Pick<OperationContext, 'sessionMetrics'>) {
    this.#deps = deps
  }

  handle(socket: AuthenticatedSocket, message: unknown): void {
    if (unwatchMessage.safeParse(message).success) return this.drop(socket)
    if (!watchMessage.safeParse(message).success) return sendText(this.#deps, socket, unknownTopic)
    if (!socket.session.user.isAdmin) return sendText(this.#deps, socket, adminRequired)
    this.#watchers.add(socket)
  }

  drop(socket: SessionSocket): void {
    this.#watchers.delete(socket as AuthenticatedSocket)
  }

  /** Users without the role stop watching. */
  notify(change: Omit<AdminChangedMessage, 'type'>): void {
    if (this.#watchers.size === 0) return
    const message = encodeMessage({ type: 'admin_changed', ...change } satisfies AdminChangedMessage)
    for (const socket of this.#watchers) {
      if (socket.session.user.isAdmin) sendText(this.#deps, socket, message)
      else this.drop(socket)
    }
  }
}

/** Updates the account states of connected users too. */
export async function subscribeAdminChanges({
  bus,
  sessions,
  adminWatch,
}: {
  bus: Pick<Bus, 'subscribe'>
  sessions: Pick<SessionRegistry, 'updateAccountState'>
  adminWatch: Pick<AdminWatch, 'notify'>
}): Promise<Subscription> {
  return await bus.subscribe(durableEvents, async (event) => {
    if (event.name === 'SettingsChanged') return adminWatch.notify({ what: 'settings' })
    if (event.name === 'PeerChanged') return adminWatch.notify({ what: 'peers' })
    const { payload } = event
    if ('inviteId' in payload) return adminWatch.notify({ what: 'invites', id: payload.inviteId })
    sessions.updateAccountState(payload.state)
    adminWatch.notify({ what: 'users', id: payload.userId })
  })
}
