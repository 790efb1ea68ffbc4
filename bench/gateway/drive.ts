import { once } from 'node:events'
import type { Child } from './child.ts'
import type { Measured } from './load.ts'

const usualConnections = 64

export const ownAccount = '/api/users/@me'

/** What one round of load showed of a contender: its rate, its latencies, and what its process took. */
export type Round = Measured & { cpuMicros: number; megabytes: number }

export type Contender = { name: string; child: Pick<Child, 'port' | 'cpuSeconds' | 'megabytes'> }

/** With several tokens each request has the next one. `texts` are sent instead of GETs. */
type Order = { seconds: number; connections?: number } & (
  { token: string | readonly string[]; path?: string } | { texts: readonly string[] }
)

/**
 * GETs of @me, or of `path`, on 64 connections for so long, each with one request at a time. Throws when one is not answered
 * with 200.
 */
export async function driveRound(load: Child, { name, child }: Contender, order: Order): Promise<Round> {
  const { seconds, connections = usualConnections } = order
  const before = child.cpuSeconds()
  const answered = once(load.process, 'message')
  load.process.send({
    port: child.port,
    connections,
    seconds,
    requests: textsOf(order),
  })
  const [measured] = (await answered) as [Measured]
  if (measured.errors > 0) throw new Error(`${name}: ${measured.errors} errors`)
  const cpuMicros = ((child.cpuSeconds() - before) * 1e6) / measured.requests
  return { ...measured, cpuMicros, megabytes: child.megabytes() }
}

/** V8 compiles until 15,000 to 40,000 requests have been answered. bench/NOTES.md. */
const warmUpRequests = 40_000

/** Sends each contender the same number of requests, or a few more, before its first round. They are not counted. */
export async function warmUp(load: Child, contenders: readonly Contender[], order: Order): Promise<void> {
  for (const contender of contenders) {
    for (let sent = 0; sent < warmUpRequests;) sent += (await driveRound(load, contender, order)).requests
  }
}

function textsOf(order: Order): readonly string[] {
  if ('texts' in order) return order.texts
  const { path = ownAccount } = order
  const headers = { Origin: 'https://elsewhere.example' }
  return [order.token].flat().map((token) => requestText({ path, authorization: `Bearer ${token}`, headers }))
}

type Request = {
  path: string
  authorization: string
  headers?: Record<string, string>
  /** Makes it a POST. */
  form?: Record<string, string>
}

/** With the headers that a browser sends. */
export function requestText({ path, authorization, headers = {}, form }: Request): string {
  const body = form ? new URLSearchParams(form).toString() : ''
  const ofBody = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': body.length }
  return [
    `${form ? 'POST' : 'GET'} ${path} HTTP/1.1`,
    'Host: home.example',
    `Authorization: ${authorization}`,
    'Accept: application/json',
    'Accept-Encoding: gzip, deflate, br',
    'Accept-Language: en-GB,en;q=0.9',
    'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36',
    ...Object.entries({ ...headers, ...(form && ofBody) }).map(([name, value]) => `${name}: ${value}`),
    `\r\n${body}`,
  ].join('\r\n')
}
