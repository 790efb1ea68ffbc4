import type { Bus, Subscription } from '@gatehouse/bus'
import { durableEvents, registrationChanged, type AdminChangedMessage } from '@gatehouse/contracts'
import { delay } from '@gatehouse/runtime'
import { sendText } from '../connection/send-text.ts'
import { type SessionSocket, encodeError, encodeMessage, watchRefusals } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'
import { findCurrentState, refuseAdmin } from '../sessions/session-registry.ts'
import type { AuthenticatedSocket, CallerDeps } from '../sessions/session-registry.ts'

export type AdminWatch = ReturnType<typeof createAdminWatch>

/** Judges each watcher again before it gets a change. Contract: 6, watch; Design: invariant 1. */
export function createAdminWatch(
  deps: CallerDeps & Pick<OperationContext, 'sessionMetrics' | 'timer' | 'timings' | 'log'>,
) {
  const watchers = new Set<AuthenticatedSocket>()
  /** In order. */
  let changes: Buffer[] = []

  const drop = (socket: SessionSocket) => watchers.delete(socket as AuthenticatedSocket)

  function end(socket: AuthenticatedSocket, error: Buffer): void {
    if (drop(socket) && socket.phase === 'ready') sendText(deps, socket, error)
  }

  /** Waits while accounts cannot be read: little changes without the database. */
  async function deliver(): Promise<void> {
    while (changes.length > 0 && watchers.size > 0) {
      const due = changes.length
      try {
        const admins = await findAdmins()
        for (const message of changes.splice(0, due)) {
          for (const socket of admins) if (watchers.has(socket)) sendText(deps, socket, message)
        }
      } catch (err) {
        deps.log.warn({ err }, 'changes for admins wait')
        await delay(deps.timer, deps.timings.databaseRetryMs)
      }
    }
    changes = []
  }

  /** After a change of the own password a client reconnects with its newer token. */
  async function findAdmins(): Promise<AuthenticatedSocket[]> {
    const judgements = [...watchers].map(async (socket) => {
      const state = await findCurrentState(deps, socket)
      if (state && !refuseAdmin(state)) return [socket]
      if (!state) end(socket, watchRefusals.revoked)
      drop(socket)
      return []
    })
    return (await Promise.all(judgements)).flat()
  }

  async function answer(socket: AuthenticatedSocket): Promise<void> {
    try {
      const state = await findCurrentState(deps, socket)
      const refusal = state && refuseAdmin(state)
      if (!state) end(socket, watchRefusals.revoked)
      else if (refusal) end(socket, encodeError(refusal))
    } catch {
      end(socket, watchRefusals.unavailable)
    }
  }

  return {
    add(socket: AuthenticatedSocket): void {
      // An `unwatch` may come before the account is read.
      watchers.add(socket)
      void answer(socket)
    },
    drop,
    /** Users without the role stop watching. */
    notify(change: Omit<AdminChangedMessage, 'type'>): void {
      if (watchers.size === 0) return
      changes.push(encodeMessage({ type: 'admin_changed', ...change } satisfies AdminChangedMessage))
      if (changes.length === 1) void deliver()
    },
  }
}

export async function subscribeAdminChanges(bus: Bus, { notify }: AdminWatch): Promise<Subscription> {
  return await bus.subscribe([...durableEvents, registrationChanged], async (event) => {
    if (event.name === 'SettingsChanged') return notify({ what: 'settings' })
    if (event.name === 'PeerChanged') return notify({ what: 'peers' })
    const { payload } = event
    if ('registrationId' in payload) return notify({ what: 'registrations', id: payload.registrationId })
    if ('inviteId' in payload) return notify({ what: 'invites', id: payload.inviteId })
    notify({ what: 'users', id: payload.userId })
  })
}
