import type { Socket } from 'node:net'

/**
 * The client connections under `/ws`, each with its other leg once there is one. Legs are watched from the first moment,
 * because an error that nobody hears ends the process, and they end together, after what was written has left.
 */
export function createLegs() {
  const open = new Set<Socket>()
  let whenEmpty: (() => void) | undefined

  return {
    count: () => open.size,
    add: (client: Socket) => {
      open.add(client)
      client.on('error', () => client.destroy())
      client.once('close', () => {
        open.delete(client)
        if (open.size === 0) whenEmpty?.()
      })
      return {
        pairWith: (upstream: Socket) => {
          upstream.on('error', () => upstream.destroy())
          upstream.once('close', () => client.destroySoon())
          client.once('close', () => upstream.destroySoon())
          if (client.destroyed) upstream.destroy()
        },
      }
    },
    /** Waits until all have ended by themselves, at most `farewellMs`, and ends the rest. */
    close: async (farewellMs: number): Promise<void> => {
      if (open.size === 0) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, farewellMs)
        whenEmpty = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      for (const client of open) client.destroySoon()
    },
  }
}
