import { WebSocket } from 'ws'

export type Door = { url: string; headers: (place: number) => Record<string, string> }

/** Opens sockets, `atOnce` at a time, each up to its first message. Gives them with the time that all took. */
export async function openCrowd(door: Door, tokens: readonly string[], atOnce = 64): Promise<Crowd> {
  const sockets: WebSocket[] = []
  const headers = tokens.map((_, place) => door.headers(place))
  const started = performance.now()
  let next = 0
  const lane = async () => {
    while (next < tokens.length) {
      const place = next
      next += 1
      sockets.push(await openOne(door.url, tokens[place]!, headers[place]!))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return { sockets, tookMs: performance.now() - started }
}
export type Crowd = { sockets: WebSocket[]; tookMs: number }

export async function dismiss(crowd: Crowd): Promise<void> {
  const closed = crowd.sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
  for (const socket of crowd.sockets) socket.terminate()
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
