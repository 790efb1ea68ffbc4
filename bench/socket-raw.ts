import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { textFrame } from './text-frame.ts'

/** A socket that does no more than the protocol asks for, so that a thousand of them cost the measuring side little. */
export type RawSocket = { socket: Socket; closed: Promise<{ code: number; at: number }> }

/** For all sockets: listeners look at what came at once. A buffer for each read would cost the measuring side a tenth more. */
const received = Buffer.alloc(64 * 1024)

/** Opens a socket and waits for its first message. */
export async function openRaw(url: string, headers: Record<string, string>, token: string): Promise<RawSocket> {
  const { hostname, port } = new URL(url)
  const onData = (length: number, buffer: Uint8Array): boolean => socket.emit('data', buffer.subarray(0, length))
  const socket: Socket = connect({ host: hostname, port: Number(port), onread: { buffer: received, callback: onData } })
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(
    `GET /ws HTTP/1.1\r\nHost: ${hostname}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n${lines.join('')}\r\n`,
  )
  const [answer] = (await once(socket, 'data')) as [Buffer]
  if (!answer.subarray(0, 12).equals(Buffer.from('HTTP/1.1 101'))) throw new Error(String(answer))
  socket.write(textFrame(JSON.stringify({ type: 'auth', token })))
  const [ready] = (await once(socket, 'data')) as [Buffer]
  if (!ready.includes('"type":"ready"')) throw new Error(String(ready))
  const closed = new Promise<{ code: number; at: number }>((resolve) => {
    let code = 0
    socket.on('data', (data: Buffer) => {
      for (let at = 0; at + 2 <= data.length; at += 2 + data[at + 1]!) {
        if (data[at] === 0x88) code = data.readUInt16BE(at + 2)
        // A close frame or a ping is answered with an empty frame: that completes the closing handshake, or is the pong.
        if (data[at] === 0x88 || data[at] === 0x89)
          socket.write(Buffer.from([data[at] === 0x88 ? 0x88 : 0x8a, 0x80, 0, 0, 0, 0]))
      }
    })
    socket.once('end', () => {
      resolve({ code, at: performance.now() })
      socket.end()
    })
    socket.once('error', () => resolve({ code: 0, at: Infinity }))
  })
  return { socket, closed }
}
