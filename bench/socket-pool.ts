import { WebSocket } from 'ws'

export type SocketTarget = {
  url: string
  headers: (place: number) => Record<string, string>
  /** By default the protocol of docs/reference/sockets.md. */
  protocol?: SocketProtocol
}

/** What a client answers to the opened socket (the text undefined) and to each text; null once it is ready. */
type SocketProtocol = (token: string, text: string | undefined) => string | null | undefined

const ours: SocketProtocol = (token, text) => {
  if (text === undefined) return JSON.stringify({ type: 'auth', token })
  if (text.startsWith('{"type":"ready"')) return null
  throw new Error(text)
}

/** Engine.IO 4 and Socket.IO 5: open, connect with the token, connected, then the event. */
export const socketIo: SocketProtocol = (token, text) => {
  if (text?.startsWith('0')) return `40${JSON.stringify({ token })}`
  if (text === undefined || text.startsWith('40')) return undefined
  if (text.startsWith('42["ready"')) return null
  throw new Error(text)
}

/** Opens sockets, `atOnce` at a time, each up to its first message. Gives them with the time in ms. */
export async function openSocketPool(
  target: SocketTarget,
  tokens: readonly string[],
  atOnce = 64,
): Promise<SocketPool> {
  const sockets: WebSocket[] = []
  const headers = tokens.map((_, place) => target.headers(place))
  const started = performance.now()
  let next = 0
  const lane = async () => {
    while (next < tokens.length) {
      const place = next
      next += 1
      sockets.push(await openOne(target, tokens[place]!, headers[place]!))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return { sockets, tookMs: performance.now() - started }
}
export type SocketPool = { sockets: WebSocket[]; tookMs: number }

export async function closeSocketPool(pool: SocketPool): Promise<void> {
  const closed = pool.sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
  for (const socket of pool.sockets) socket.terminate()
  await Promise.all(closed)
}

async function openOne({ url, protocol = ours }: SocketTarget, token: string, headers: Record<string, string>) {
  return await new Promise<WebSocket>((resolve, reject) => {
    const socket = new WebSocket(url, { perMessageDeflate: false, headers })
    const answer = (text?: string) => {
      try {
        const reply = protocol(token, text)
        if (reply) socket.send(reply)
        if (reply !== null) return
        socket.off('message', onMessage)
        resolve(socket)
      } catch (error) {
        reject(new Error('refused before ready', { cause: error }))
      }
    }
    const onMessage = (data: Buffer) => answer(String(data))
    socket.once('open', () => answer())
    socket.on('message', onMessage)
    socket.once('close', (code, reason) => reject(new Error(`closed with ${code} ${String(reason)}`)))
    socket.once('error', reject)
  })
}
