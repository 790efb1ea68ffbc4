import type { LiveConnection, LiveDeps } from '../live/live-connection.ts'
import type { SelfIds } from '../identity/self-ids.ts'
import { isReady } from '../live/frames.ts'
import type { RemoteList } from './remote-list.ts'

/** The live connections to the remote instances. */
export type RemoteLinks = {
  /** Opens the link to a listed remote that has a token. */
  open(origin: string): void
  close(origin: string): void
  closeAll(): void
}

/** Each link fills the self-id registry from its ready events and tells the list when it is up. */
export function createRemoteLinks(deps: {
  remotes: RemoteList
  selfIds: SelfIds
  createLive: (live: Pick<LiveDeps, 'origin' | 'token' | 'onRefused'>) => LiveConnection
}): RemoteLinks {
  const { remotes } = deps
  const links = new Map<string, LiveConnection>()

  const link = (origin: string) => {
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
    links.get(origin)?.close()
    links.delete(origin)
  }
  return {
    open: (origin) => {
      const live = links.get(origin) ?? link(origin)
      links.set(origin, live)
      live.open()
    },
    close,
    closeAll: () => [...links.keys()].forEach(close),
  }
}
