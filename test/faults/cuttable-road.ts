import { createServer, connect, type Socket } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

/** A way to a server that can be cut: nothing arrives any more, and nobody is told. */
export type CuttableRoad = AsyncDisposable & { url: string; cut(): void; mend(): void }

/** `url` leads to the server of `target` as long as the road is not cut. */
export async function openRoad(target: string): Promise<CuttableRoad> {
  const url = new URL(target)
  const goal = { host: url.hostname, port: Number(url.port) }
  const pairs = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    const far = connect(goal)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      pairs.add(from)
      from.on('error', () => undefined)
      from.on('data', (data) => void to.write(data))
      from.on('close', () => {
        pairs.delete(from)
        if (!isCut) to.destroy()
      })
      if (isCut) from.pause()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href.replace(/\/$/, ''),
    cut() {
      isCut = true
      for (const socket of pairs) socket.pause()
    },
    mend() {
      isCut = false
      // As after a partition: connections whose other side gave up are gone.
      for (const socket of pairs) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of pairs) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
