import { WebSocket } from 'ws'

export type SocketTarget = { url: string; headers: (place: number) => Record<string, string> }

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
      sockets.push(await openOne(target.url, tokens[place]!, headers[place]!))
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

async function openOne(url: string, token: string, headers: Record<string, string>): Promise<WebSocket> {
  return await new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { perMessageDeflate: false, headers })
    socket.once('open', () => socket.send(JSON.stringify({ type: 'auth', token })))
    socket.once('message', (data) => {
      const text = String(data)
      if (text.startsWith('{"type":"ready"')) resolve(socket)
      else reject(new Error(text))
    })
    socket.once('close', (code, reason) => reject(new Error(`closed with ${code} ${String(reason)}`)))
    socket.once('error', reject)
  })
}
