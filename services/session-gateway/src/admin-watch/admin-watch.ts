import type { Bus, Subscription } from '@gatehouse/bus'
import { durableEvents, type AdminChangedMessage } from '@gatehouse/contracts'
import { delay } from '@gatehouse/runtime'
import { sendText } from '../connection/send-text.ts'
import { type SessionSocket, encodeError, encodeMessage } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'
import {
  findCurrentState,
  refuseAdmin,
  type AuthenticatedSocket,
  type CallerDeps,
} from '../sessions/session-registry.ts'

type WatchDeps = CallerDeps & Pick<OperationContext, 'sessionMetrics' | 'timer' | 'timings' | 'log'>

const revoked = encodeError('token_revoked', { requestType: 'watch' })
const unavailable = encodeError('service_unavailable', { requestType: 'watch' })

/** Contract: 6, watch; Design: invariant 1. */
export class AdminWatch {
  readonly #deps: WatchDeps
  readonly #watchers = new Set<AuthenticatedSocket>()
  /** In order. */
  #changes: Buffer[] = []

  constructor(deps: WatchDeps) {
    this.#deps = deps
  }

  add(socket: AuthenticatedSocket): void {
    // An `unwatch` may come before the account is read.
    this.#watchers.add(socket)
    void this.#answer(socket)
  }

  drop(socket: SessionSocket): void {
    this.#watchers.delete(socket as AuthenticatedSocket)
  }

  /** Users without the role stop watching. */
  notify(change: Omit<AdminChangedMessage, 'type'>): void {
    if (this.#watchers.size === 0) return
    this.#changes.push(encodeMessage({ type: 'admin_changed', ...change } satisfies AdminChangedMessage))
    if (this.#changes.length === 1) void this.#deliver()
  }

  /** Waits while accounts cannot be read: little changes without the database. */
  async #deliver(): Promise<void> {
    const { log, timer, timings } = this.#deps
    while (this.#changes.length > 0 && this.#watchers.size > 0) {
      const due = this.#changes.length
      try {
        const admins = await this.#findAdmins()
        for (const message of this.#changes.splice(0, due)) {
          for (const socket of admins) if (this.#watchers.has(socket)) sendText(this.#deps, socket, message)
        }
      } catch (err) {
        log.warn({ err }, 'changes for admins wait')
        await delay(timer, timings.databaseRetryMs)
      }
    }
    this.#changes = []
  }

  /** After a change of the own password a client reconnects with its newer token. */
  async #findAdmins(): Promise<AuthenticatedSocket[]> {
    const judged = [...this.#watchers].map(async (socket) => {
      const state = await findCurrentState(this.#deps, socket)
      if (state && !refuseAdmin(state)) return [socket]
      if (!state) this.#end(socket, revoked)
      this.drop(socket)
      return []
    })
    return (await Promise.all(judged)).flat()
  }

  async #answer(socket: AuthenticatedSocket): Promise<void> {
    try {
      const state = await findCurrentState(this.#deps, socket)
      const refusal = state && refuseAdmin(state)
      if (!state) this.#end(socket, revoked)
      else if (refusal) this.#end(socket, encodeError(refusal))
    } catch {
      this.#end(socket, unavailable)
    }
  }

  #end(socket: AuthenticatedSocket, error: Buffer): void {
    if (this.#watchers.delete(socket) && socket.phase === 'ready') sendText(this.#deps, socket, error)
  }
}

export async function subscribeAdminChanges({
  bus,
  adminWatch,
}: {
  bus: Pick<Bus, 'subscribe'>
  adminWatch: Pick<AdminWatch, 'notify'>
}): Promise<Subscription> {
  return await bus.subscribe(durableEvents, async (event) => {
    if (event.name === 'SettingsChanged') return adminWatch.notify({ what: 'settings' })
    if (event.name === 'PeerChanged') return adminWatch.notify({ what: 'peers' })
    const { payload } = event
    if ('inviteId' in payload) return adminWatch.notify({ what: 'invites', id: payload.inviteId })
    adminWatch.notify({ what: 'users', id: payload.userId })
  })
}
