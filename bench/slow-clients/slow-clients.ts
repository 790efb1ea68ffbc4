import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { textFrame } from '../text-frame.ts'
import { openSlowSocket } from './slow-socket.ts'
import type { BenchInstance } from './start-instance.ts'

export const slowOfEachKind = 300

const address = '198.51.100.7'
/** Requests for the file on one connection: together more than the buffers of the system hold. */
const readsAhead = 8
const dripMs = 2_000
const socketsAtOnce = 20

/** Slow clients of one address: readers of a file, writers of JSON and of uploads, and sockets that nobody reads. */
export async function openSlowClients(instance: BenchInstance): Promise<AsyncDisposable> {
  const readers = await openAll(slowOfEachKind, () => openReader(instance))
  const writers = await openAll(slowOfEachKind, (place) => openWriter(instance, place))
  const sockets = await openAll(slowOfEachKind, (place) => {
    const { token } = instance.slow[place % instance.slow.length]!
    return openSlowSocket(instance, { token, address })
  })
  const drip = setInterval(() => {
    for (const writer of writers) if (!writer.destroyed) writer.write(' ')
    // Each is answered with a pong, which nobody reads.
    for (const socket of sockets) if (!socket.destroyed) socket.write(ping)
  }, dripMs)
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(drip)
      const all = [...readers, ...writers, ...sockets]
      const closed = all.filter((one) => !one.closed).map((one) => once(one, 'close'))
      for (const one of all) one.destroy()
      await Promise.all(closed)
    },
  }
}

const ping = textFrame('{"type":"ping"}')

async function openAll(count: number, open: (place: number) => Promise<Socket>): Promise<Socket[]> {
  const opened: Socket[] = []
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) {
      const place = next
      next += 1
      opened.push(await open(place))
    }
  }
  await Promise.all(Array.from({ length: socketsAtOnce }, lane))
  return opened
}

async function openConnection({ port }: BenchInstance): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

async function openReader(instance: BenchInstance): Promise<Socket> {
  const socket = await openConnection(instance)
  const request = `GET /api/uploads/${instance.file} HTTP/1.1\r\nHost: bench\r\nX-Forwarded-For: ${address}\r\n\r\n`
  socket.pause().write(request.repeat(readsAhead))
  return socket
}

/** Every other one uploads. Answers are read: what is refused ends. */
async function openWriter(instance: BenchInstance, place: number): Promise<Socket> {
  const socket = await openConnection(instance)
  const { token } = instance.slow[place % instance.slow.length]!
  const [target, type] =
    place % 2 === 0
      ? ['PATCH /api/users/@me', 'application/json']
      : ['POST /api/uploads', 'multipart/form-data; boundary=b']
  socket.resume()
  socket.write(
    `${target} HTTP/1.1\r\nHost: bench\r\nX-Forwarded-For: ${address}\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: ${type}\r\nContent-Length: 4000\r\n\r\n`,
  )
  return socket
}
