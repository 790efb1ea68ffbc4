import type { SelfIds } from '../identity/identity.ts'
import { isReady } from '../live/frames.ts'
import type { LiveConnection, LiveDeps } from '../live/live-connection.ts'
import type { RemoteList } from './remote-list.ts'

export type RemoteLiveConnections = {
  open(origin: string): void
  close(origin: string): void
  closeAll(): void
}

export function createRemoteLiveConnections(deps: {
  remotes: RemoteList
  selfIds: SelfIds
  createLive: (live: Pick<LiveDeps, 'origin' | 'token' | 'onRefused'>) => LiveConnection
}): RemoteLiveConnections {
  const { remotes } = deps
  const connections = new Map<string, LiveConnection>()

  const create = (origin: string) => {
    const live = deps.createLive({
      origin,
      token: () => remotes.find(origin)?.token ?? null,
      onRefused: (token, end) => {
        if (remotes.find(origin)?.token !== token) return false
        remotes.change(origin, { token: null, state: 'needs_password', error: end.message, online: false })
        return true
      },
    })
    live.onEvent((event) => {
      if (!isReady(event)) return
      deps.selfIds.add(event.user.id)
      remotes.change(origin, { state: 'connected', user: event.user, error: null })
    })
    live.subscribe(() => {
      const online = live.getSnapshot().phase === 'ready'
      if (remotes.find(origin)?.online !== online) remotes.change(origin, { online })
    })
    return live
  }
  const close = (origin: string) => {
    connections.get(origin)?.close()
    connections.delete(origin)
  }
  return {
    open: (origin) => {
      const live = connections.get(origin) ?? create(origin)
      connections.set(origin, live)
      live.open()
    },
    close,
    closeAll: () => [...connections.keys()].forEach(close),
  }
}
