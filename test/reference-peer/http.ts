import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerOfFault, takeFault } from './faults.ts'
import type { Instance, LogEntry } from './instance.ts'
import { limitAddress } from './limits.ts'
import type { AddressLimit } from './limits.ts'
import { Refused, frameworkFault, refused, reply } from './replies.ts'
import type { ReceivedRequest, Reply } from './replies.ts'

export type Route = {
  answer: (instance: Instance, request: ReceivedRequest) => Reply | Promise<Reply>
  maxBytes?: number
  limit?: AddressLimit
}

/** `METHOD /path` → route. */
export type Routes = Record<string, Route>

const mebibyte = 1024 * 1024

export function createRoutedServer(routes: Routes, current: () => Instance): Server {
  return createServer((incoming, outgoing) => {
    serve(routes, current(), { incoming, outgoing }).catch(() => outgoing.destroy())
  })
}

type Exchange = { incoming: IncomingMessage; outgoing: ServerResponse }

async function serve(routes: Routes, instance: Instance, { incoming, outgoing }: Exchange): Promise<void> {
  const method = incoming.method ?? 'GET'
  const path = new URL(incoming.url ?? '/', 'http://any').pathname
  const fault = takeFault(instance, path)
  await fault?.before?.()
  const bytes = await readBytes(incoming)
  const entry = beginLog(instance, { incoming, method, path, body: bytes.toString('utf8') })
  const answer = fault?.answer
    ? answerOfFault(fault.answer)
    : await answerRoute(routes[`${method} ${path}`], instance, { incoming, method, path, bytes })
  entry.answer = answer.text
  if (fault?.delayMs) await sleep(fault.delayMs)
  await fault?.after?.()
  if (fault?.dropAnswer) {
    entry.status = 'dropped'
    incoming.socket.destroy()
    return
  }
  entry.status = answer.status
  outgoing.writeHead(answer.status, {
    ...answer.headers,
    'content-length': Buffer.byteLength(answer.text),
    connection: 'close',
  })
  outgoing.end(answer.text)
}

type Received = { incoming: IncomingMessage; method: string; path: string; bytes: Buffer }

async function answerRoute(route: Route | undefined, instance: Instance, received: Received): Promise<Reply> {
  const { incoming, method, path, bytes } = received
  try {
    if (!route) throw refused(404, 'Not found')
    const ip = addressOf(incoming)
    limitAddress(instance, route.limit ?? 'everything', ip)
    const body = method === 'GET' ? undefined : parseBody(incoming, bytes, route.maxBytes ?? mebibyte)
    return await route.answer(instance, { method, path, headers: incoming.headers, body, ip })
  } catch (error) {
    if (error instanceof Refused) return error.reply
    return reply(500, { error: String(error), statusCode: 500 })
  }
}

/** The leftmost X-Forwarded-For is believed. wire: 1, limits */
function addressOf(incoming: IncomingMessage): string {
  const forwarded = incoming.headers['x-forwarded-for']
  const leftmost = typeof forwarded === 'string' ? forwarded.split(',')[0]?.trim() : undefined
  return leftmost || incoming.socket.remoteAddress || ''
}

async function readBytes(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function parseBody(incoming: IncomingMessage, bytes: Buffer, maxBytes: number): unknown {
  const type = incoming.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type === undefined && bytes.length === 0) return undefined
  if (type !== 'application/json') {
    throw frameworkFault(415, 'FST_ERR_CTP_INVALID_MEDIA_TYPE', `Unsupported Media Type: ${type}`)
  }
  if (bytes.length > maxBytes) throw frameworkFault(413, 'FST_ERR_CTP_BODY_TOO_LARGE', 'Request body is too large')
  if (bytes.length === 0) throw frameworkFault(400, 'FST_ERR_CTP_EMPTY_JSON_BODY', 'Body cannot be empty')
  try {
    return JSON.parse(bytes.toString('utf8'), refusePrototype) as unknown
  } catch {
    throw frameworkFault(400, 'FST_ERR_CTP_INVALID_JSON_BODY', 'Body is not valid JSON')
  }
}

function refusePrototype(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new SyntaxError('prototype key')
  return value
}

type Begun = { incoming: IncomingMessage; method: string; path: string; body: string }

function beginLog(instance: Instance, { incoming, method, path, body }: Begun): LogEntry {
  const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]))
  const origin = headers['x-federation-origin'] ?? ''
  const at = instance.now()
  const entry: LogEntry = { direction: 'received', at, method, path, origin, headers, body, status: 0, answer: '' }
  instance.log.push(entry)
  return entry
}
