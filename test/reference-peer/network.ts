import { request as httpRequest } from 'node:http'
import type { PeerStatus } from './instance.ts'
import { startReferencePeer } from './reference-peer.ts'
import type { ReferencePeer, ReferencePeerOptions } from './reference-peer.ts'
import { signatureOf } from './signature.ts'

export const startOfTime = 1784000000000
export const secretOfPage = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'

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

export async function settle(...peers: ReferencePeer[]): Promise<void> {
  for (let round = 0; round < 3; round += 1) for (const peer of peers) await peer.idle()
}

/** The states that each has of the other. */
export function states(a: ReferencePeer, b: ReferencePeer): (PeerStatus | undefined)[] {
  return [a.peer(b.origin)?.status, b.peer(a.origin)?.status]
}

/** A peering that just stands, with the secret of the page, and nothing sent for it. */
export function joinPeers(a: ReferencePeer, b: ReferencePeer, status: PeerStatus = 'active'): void {
  a.addPeer(b.origin, { status, secret: secretOfPage, instanceId: b.instanceId() })
  b.addPeer(a.origin, { status, secret: secretOfPage, instanceId: a.instanceId() })
}

/** A promise that the test opens. */
export function latch() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: () => resolve() }
}

export type Sent = {
  method?: string
  path: string
  headers?: Record<string, string>
  /** An object is written as JSON with its content type; a text is sent as it is. */
  body?: unknown
}

export type Received = { status: number; headers: Record<string, unknown>; text: string; body: Record<string, unknown> }

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

export type SignedBy = {
  origin: string
  secret?: string
  timestamp?: number
  nonce?: string | null
  body?: unknown
  method?: string
}

let nonces = 0

export async function sendSigned(to: ReferencePeer, path: string, given: SignedBy): Promise<Received> {
  const { origin, secret = secretOfPage, timestamp = startOfTime, body = {}, method = 'POST' } = given
  const nonce = given.nonce === undefined ? `nonce-${(nonces += 1)}` : given.nonce
  const text = JSON.stringify(body)
  const headers = {
    'X-Federation-Origin': origin,
    'X-Federation-Timestamp': String(timestamp),
    ...(nonce === null ? {} : { 'X-Federation-Nonce': nonce }),
    'X-Federation-Signature': signatureOf(secret, { timestamp: String(timestamp), nonce, body: text }),
  }
  return await send(to, { method, path: `/api/federation/${path}`, headers, body: text })
}

/** The requests that one has sent, as `path status`. */
export function sentBy(peer: ReferencePeer, path = '/api/'): string[] {
  const sent = peer.log.filter((entry) => entry.direction === 'sent' && entry.path.startsWith(path))
  return sent.map((entry) => `${entry.path.replace('/api/', '')} ${entry.status}`)
}
