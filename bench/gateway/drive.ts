import { once } from 'node:events'
import type { Child } from './child.ts'
import type { Measured } from './load.ts'

const connections = 64

/** What one round of load showed of a contender: its rate, its latencies, and what its process took. */
export type Round = Measured & { cpuMicros: number; megabytes: number }

export type Contender = { name: string; child: Pick<Child, 'port' | 'cpuSeconds' | 'megabytes'> }

/** With several tokens each request has the next one. */
type Order = { token: string | readonly string[]; seconds: number; path?: string }

/** GETs of @me, or of `path`, on 64 connections for so long, each with one request at a time. Throws when one is not answered with 200. */
export async function driveRound(
  load: Child,
  { name, child }: Contender,
  { token, seconds, path = '/api/users/@me' }: Order,
): Promise<Round> {
  const before = child.cpuSeconds()
  const answered = once(load.process, 'message')
  load.process.send({
    port: child.port,
    connections,
    seconds,
    requests: [token].flat().map((each) => requestOf(each, path)),
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

/** With the headers that a browser sends. */
function requestOf(token: string, path: string): string {
  return [
    `GET ${path} HTTP/1.1`,
    'Host: home.example',
    `Authorization: Bearer ${token}`,
    'Accept: application/json',
    'Accept-Encoding: gzip, deflate, br',
    'Accept-Language: en-GB,en;q=0.9',
    'Origin: https://elsewhere.example',
    'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36',
    '\r\n',
  ].join('\r\n')
}
