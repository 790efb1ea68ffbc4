import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { closeFrame, textFrame, type SocketCase } from './frames.ts'
import { judgeFrames, parseFrames } from './server-frames.ts'

const upgradeLimitMs = 15_000
/** After the client's end, for the server to close its side. */
const closeLimitMs = 5_000
const upgradeKey = 'dGhlIHNhbXBsZSBub25jZQ=='

/** What a socket did: how many frames it sent, whether it was `ready`, and why the server's answers break the contract. */
export type SocketReport = { sent: number; ready: boolean; problem: string | undefined }

/** Opens a socket, sends the frames of the case, and ends it. */
export async function sendFrames(origin: string, { address, account, frames, end }: SocketCase): Promise<SocketReport> {
  const received = await openSocket(origin, address)
  const { socket, takeFrames, waitFor } = received
  try {
    const upgraded = await waitFor((text) => text.includes('\r\n\r\n'))
    if (!upgraded.startsWith('HTTP/1.1 101')) {
      const refused = /^HTTP\/1\.1 (503|4\d\d)/.test(upgraded)
      return { sent: 0, ready: false, problem: refused ? undefined : `upgrade answered ${upgraded.slice(0, 200)}` }
    }
    let ready = false
    if (account) {
      socket.write(textFrame(JSON.stringify({ type: 'auth', token: account.token })))
      ready = (await waitFor((text) => /"type":"(ready|error)"/.test(text))).includes('"type":"ready"')
    }
    for (const frame of frames) socket.write(frame)
    await endSocket(socket, end)
    return { sent: frames.length, ready, problem: judgeFrames(parseFrames(takeFrames())) }
  } finally {
    socket.destroy()
  }
}

async function openSocket(origin: string, address: string) {
  const { hostname: host, port } = new URL(origin)
  const socket = connect({ host, port: Number(port), noDelay: true })
  let bytes: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk) => (bytes = Buffer.concat([bytes, chunk])))
  socket.on('error', () => undefined) // a reset is an answer to such frames
  await once(socket, 'connect')
  const head = [
    'GET /ws HTTP/1.1',
    `Host: ${host}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
  ]
  socket.write(`${head.join('\r\n')}\r\nSec-WebSocket-Key: ${upgradeKey}\r\nX-Forwarded-For: ${address}\r\n\r\n`)
  return {
    socket,
    /** All bytes so far, once they satisfy, or once the server has closed. */
    waitFor: async (isEnough: (text: string) => boolean): Promise<string> => {
      const limit = AbortSignal.timeout(upgradeLimitMs)
      while (!isEnough(bytes.toString('latin1')) && !socket.closed && !socket.readableEnded) {
        await Promise.race([once(socket, 'data', { signal: limit }), once(socket, 'close', { signal: limit })])
      }
      return bytes.toString('latin1')
    },
    takeFrames: (): Buffer => bytes.subarray(bytes.indexOf('\r\n\r\n') + 4),
  }
}

async function endSocket(socket: Socket, end: SocketCase['end']): Promise<void> {
  if (end === 'reset') {
    // After the frames have left: a reset drops what still waits to be sent.
    await new Promise<void>((resolve) => void socket.write(Buffer.alloc(0), () => resolve()))
    socket.resetAndDestroy()
    return
  }
  if (end === 'close-frame') socket.write(closeFrame)
  else socket.end()
  if (socket.closed) return
  await once(socket, 'close', { signal: AbortSignal.timeout(closeLimitMs) }).catch(() => undefined)
}
