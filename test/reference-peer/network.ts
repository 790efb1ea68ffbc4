import { request as httpRequest } from 'node:http'
import { startReferencePeer } from './reference-peer.ts'
import type { ReferencePeer, ReferencePeerOptions } from './reference-peer.ts'

export const startOfTime = 1784000000000

/** Reference peers under one clock that find each other by origin; nothing happens by itself. */
export function openNetwork() {
  const opened = new AsyncDisposableStack()
  const resolve = new Map<string, string>()
  const time = { now: startOfTime }
  const start = async (host: string, options: ReferencePeerOptions = {}): Promise<ReferencePeer> => {
    const { settings, ...rest } = options
    const peer = opened.use(
      await startReferencePeer({
        publicOrigin: `https://${host}`,
        instanceName: host,
        resolve,
        clock: { now: () => time.now },
        timers: 'manual',
        settings: { limits: false, ...settings },
        ...rest,
      }),
    )
    if (URL.canParse(peer.origin)) resolve.set(new URL(peer.origin).origin, peer.address)
    return peer
  }
  const advance = (ms: number) => void (time.now += ms)
  return { start, resolve, advance, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

type Sent = {
  method?: string
  path: string
  headers?: Record<string, string>
  /** An object is written as JSON with its content type; a text is sent as it is. */
  body?: unknown
}

type Received = { status: number; headers: Record<string, unknown>; text: string; body: Record<string, unknown> }

/** One request from nobody in particular. */
export async function send(to: ReferencePeer, { method = 'POST', path, headers = {}, body }: Sent): Promise<Received> {
  const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)
  const type = { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(text)) }
  return await new Promise((resolve, reject) => {
    const outgoing = httpRequest(to.address + path, {
      method,
      headers: { ...(body === undefined ? {} : type), ...headers },
      agent: false,
    })
    outgoing.once('error', reject)
    outgoing.once('response', (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.once('end', () => {
        const answered = Buffer.concat(chunks).toString('utf8')
        const parsed = answered === '' ? {} : (JSON.parse(answered) as Record<string, unknown>)
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text: answered, body: parsed })
      })
    })
    outgoing.end(text)
  })
}
