import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer as readAll } from 'node:stream/consumers'
import { readSignedHeaders, signAnswer, signBody, verifySignature } from '../src/peers/signature.ts'
import type { Peer } from '@gatehouse/domain'
import type { TestAnswer, TestInstance } from './harness.ts'

export const secretOfPeer = 'a'.repeat(64)
export const fakeInstanceId = '0b8a5b0e-6a52-4b0c-9d0e-3f1f2a3b4c5d'

export type Received = { method: string; path: string; headers: IncomingMessage['headers']; body: Buffer }

export type FakePeer = AsyncDisposable & {
  origin: string
  host: string
  /** What it signs with; `undefined` while it knows none. Offers set it. */
  secret: string | undefined
  received: Received[]
  /** Its clock, which signs. */
  now: () => number
  /** Answers instead of the usual; gives false to leave it to the usual. */
  answer: (request: Received, response: ServerResponse) => boolean | void
}

/** Another implementation's instance: takes offers, proves its secret, says yes to deletions. */
export async function startFakePeer(name: string): Promise<FakePeer> {
  const server = createServer((incoming, response) => void handle(incoming, response))
  const port = await listenOnNewPort(server)
  const host = `${name}.test`
  const peer: FakePeer = {
    origin: `http://${host}:${port}`,
    host,
    secret: undefined,
    received: [],
    now: () => Date.now(),
    answer: () => false,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readAll(incoming)
    const request = { method: incoming.method!, path: incoming.url!, headers: incoming.headers, body }
    peer.received.push(request)
    if (peer.answer(request, response) !== false) return
    answerAsUsual(peer, request, response)
  }
  return peer
}

const usedPorts = new Set<number>()

/** The system may give a port again, and with it an origin that an instance has met in an earlier test. */
async function listenOnNewPort(server: Server): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    if (!usedPorts.has(port)) {
      usedPorts.add(port)
      return port
    }
    await new Promise((closed) => server.close(closed))
  }
  throw new Error('No port found that was not used before')
}

function answerAsUsual(peer: FakePeer, request: Received, response: ServerResponse): void {
  if (request.path === '/api/federation/epoch') return answerEpoch(peer, request, response)
  if (request.path === '/api/federation/peer/accept') {
    peer.secret = (JSON.parse(request.body.toString()) as { hmacSecret: string }).hmacSecret
    return sendJson(response, 200, { accepted: true, instanceName: 'Fake', instanceId: fakeInstanceId })
  }
  sendJson(response, 200, { success: true })
}

function answerEpoch(peer: FakePeer, request: Received, response: ServerResponse): void {
  const signed = readSignedHeaders(request.headers)
  const { secret } = peer
  if (!secret || !signed) return sendJson(response, 403, { error: 'unknown', statusCode: 403 })
  if (verifySignature({ secrets: [secret], body: request.body, signed, now: peer.now() }).verdict !== 'ok') {
    return sendJson(response, 401, { error: 'bad signature', statusCode: 401 })
  }
  sendSignedJson(response, { secret, body: { instanceId: fakeInstanceId }, timestamp: peer.now() })
}

type SignedJson = { secret: string; body: object; timestamp?: number; nonce?: string }

export function sendSignedJson(response: ServerResponse, answer: SignedJson): void {
  const { secret, timestamp = Date.now(), nonce = randomUUID() } = answer
  const body = JSON.stringify(answer.body)
  response.writeHead(200, { 'content-type': 'application/json', ...signAnswer({ secret, body, timestamp, nonce }) })
  response.end(body)
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

/** A peer that needs no server, because nobody asks it anything. */
export async function buildPeer(
  instance: TestInstance,
  peer: { host: string; origin?: string; secret?: string; status?: Peer['status'] },
) {
  const { host, origin = `https://${host}`, secret = secretOfPeer, status = 'active' } = peer
  await instance.deps.orm.em
    .fork()
    .execute('insert into peers (id, origin, host, secret, status) values (next_snowflake(), ?, ?, ?, ?)', [
      origin,
      host,
      secret,
      status,
    ])
  return { origin, secret, host }
}

type Signing = {
  origin: string
  secret: string
  nonce?: string
  timestamp?: number
  /** Signed instead of what is sent. */
  signs?: string
  headers?: Record<string, string | undefined>
}

/** Sends a request as a peer signs it; `headers` adds or, with undefined, leaves out. */
export async function sendAsPeer(
  instance: TestInstance,
  [method, path, body]: [string, string, object | Buffer | string],
  signing: Signing,
): Promise<TestAnswer> {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const signature = signBody({
    secret: signing.secret,
    origin: signing.origin,
    body: signing.signs ?? text,
    timestamp: signing.timestamp ?? instance.clock.now(),
    nonce: signing.nonce ?? randomUUID(),
  })
  const lower = Object.fromEntries(Object.entries(signature).map(([name, value]) => [name.toLowerCase(), value]))
  const headers = Object.entries({ ...lower, ...signing.headers }).filter(([, value]) => value !== undefined)
  return await instance.call(method, path, {
    body: text,
    headers: Object.fromEntries(headers) as Record<string, string>,
  })
}
