import type { OpenSocket, Socket } from '../src/platform.ts'

export type FakeSocket = Socket & {
  url: string
  sent: Record<string, unknown>[]
  closed: boolean
  serverAccepts(): void
  serverSends(frame: object | string): void
  serverCloses(code: number): void
}

/** Sockets whose server side the test controls. */
export function createFakeSockets(): { openSocket: OpenSocket; opened: FakeSocket[]; last(): FakeSocket } {
  const opened: FakeSocket[] = []
  const openSocket: OpenSocket = (url) => {
    const socket: FakeSocket = {
      url,
      sent: [],
      closed: false,
      onopen: null,
      onmessage: null,
      onclose: null,
      onerror: null,
      send: (text) => void socket.sent.push(JSON.parse(text)),
      close: () => void (socket.closed = true),
      serverAccepts: () => socket.onopen?.(),
      serverSends: (frame) => socket.onmessage?.({ data: typeof frame === 'string' ? frame : JSON.stringify(frame) }),
      serverCloses: (code) => socket.onclose?.({ code, reason: '' }),
    }
    opened.push(socket)
    return socket
  }
  const last = () => {
    const socket = opened.at(-1)
    if (!socket) throw new Error('no socket was opened')
    return socket
  }
  return { openSocket, opened, last }
}
