import type { Socket } from 'node:net'

/** The client connections under `/ws`, each with its upstream connection once there is one. */
export type SocketPairs = {
  count(): number
  add(client: Socket): { pairWith(upstream: Socket): void }
  /** Waits until all are closed, at most `timeoutMs`, and closes the rest. */
  drain(timeoutMs: number): Promise<void>
}

/**
 * Both connections of a pair close together, after what was written has been sent. They have an `error` listener from the
 * start, because an error without one ends the process.
 */
export function createSocketPairs(): SocketPairs {
  const open = new Set<Socket>()
  let onEmpty: (() => void) | undefined

  return {
    count: () => open.size,
    add: (client) => {
      open.add(client)
      client.on('error', () => client.destroy())
      client.once('close', () => {
        open.delete(client)
        if (open.size === 0) onEmpty?.()
      })
      return {
        pairWith: (upstream) => {
          upstream.on('error', () => upstream.destroy())
          upstream.once('close', () => client.destroySoon())
          client.once('close', () => upstream.destroySoon())
          if (client.destroyed) upstream.destroy()
        },
      }
    },
    drain: async (timeoutMs) => {
      if (open.size === 0) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs)
        onEmpty = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      for (const client of open) client.destroySoon()
    },
  }
}
