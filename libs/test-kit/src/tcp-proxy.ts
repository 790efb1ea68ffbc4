import { once } from 'node:events'
import { createServer, connect, type AddressInfo, type Socket } from 'node:net'

/** A TCP proxy in front of a server that can simulate a network partition, and an address that moves. */
export type TcpProxy = AsyncDisposable & {
  url: string
  /** Nothing arrives any more on either side, while every connection stays open. */
  partition(): void
  /** Connections from before are reset, with what they held; new ones pass again. */
  heal(): void
  /** Nothing arrives any more on the connections that are open, while new ones pass, until what they held is released. */
  silence(): { release(): void }
  /** New connections lead to `target`, while those that are open stay where they are. */
  leadTo(target: string): void
}

/** Starts a proxy whose `url` is that of `target` on another port. */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const url = new URL(target)
  let upstream = addressOf(target)
  const sockets = new Set<Socket>()
  let partitioned = false

  function pipe(from: Socket, to: Socket): void {
    sockets.add(from)
    from.on('error', () => undefined)
    from.on('data', (data) => void to.write(data))
    from.on('close', () => {
      sockets.delete(from)
      if (!partitioned) to.destroy()
    })
    if (partitioned) from.pause()
  }

  const server = createServer((client) => {
    const connection = connect(upstream)
    pipe(client, connection)
    pipe(connection, client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href.replace(/\/$/, ''),
    partition() {
      partitioned = true
      for (const socket of sockets) socket.pause()
    },
    heal() {
      partitioned = false
      for (const socket of sockets) socket.destroy()
    },
    silence() {
      const silent = [...sockets]
      for (const socket of silent) socket.pause()
      return {
        release: () => {
          for (const socket of silent) socket.resume()
        },
      }
    },
    leadTo(next) {
      upstream = addressOf(next)
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function addressOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}
