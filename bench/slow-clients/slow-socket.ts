import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { textFrame } from '../text-frame.ts'

type Target = { port: number }

/** Opens a socket that has its `ready`, and that nobody reads from then on. Rejects when it is refused. */
export async function openSlowSocket(
  { port }: Target,
  { token, address }: { token: string; address: string },
): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(
    `GET /ws HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Forwarded-For: ${address}\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n\r\n`,
  )
  const [answer] = (await once(socket, 'data')) as [Buffer]
  if (!answer.subarray(0, 12).equals(Buffer.from('HTTP/1.1 101'))) throw new Error(String(answer))
  socket.write(textFrame(JSON.stringify({ type: 'auth', token })))
  const [ready] = (await once(socket, 'data')) as [Buffer]
  if (!ready.includes('"type":"ready"')) throw new Error(String(ready))
  return socket.pause()
}
