import type { OpenSocket, Socket } from '../src/platform.ts'

export type FakeSocket = Socket & {
  url: string
  sent: Record<string, unknown>[]
  closed: boolean
  serverAccepts(): void
  serverSends(frame: object | string): void
  /** As the server does: before `ready` an error comes first. */
  serverCloses(code: number): void
  /** Nothing of the server came before. */
  breaks(code?: number): void
}

/** Sockets whose server side the test controls. */
export function createFakeSockets(): { openSocket: OpenSocket; opened: FakeSocket[]; last(): FakeSocket } {
  const opened: FakeSocket[] = []
  const openSocket: OpenSocket = (url) => {
    let isReady = false
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
      serverSends: (frame) => {
        isReady ||= (frame as { type?: string }).type === 'ready'
        socket.onmessage?.({ data: typeof frame === 'string' ? frame : JSON.stringify(frame) })
      },
      serverCloses: (code) => {
        if (!isReady) socket.serverSends({ type: 'error', message: 'The end', code: 'the_end' })
        socket.onclose?.({ code, reason: '' })
      },
      breaks: (code = 1006) => socket.onclose?.({ code, reason: '' }),
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
