import { request as sendRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { refuse, type Refusal } from '@gatehouse/runtime'

/** Undefined after the time limit. Never rejects. */
export async function connectReplica(origin: string, timeoutMs: number): Promise<Socket | undefined> {
  const { hostname, port } = new URL(origin)
  const host = hostname.replace(/^\[|\]$/g, '')
  return await new Promise((resolve) => {
    const socket = connect({ host, port: Number(port || 80), noDelay: true, keepAlive: true })
    const fail = (): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(undefined)
    }
    const timer = setTimeout(fail, timeoutMs)
    socket.once('error', fail)
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.off('error', fail)
      resolve(socket)
    })
  })
}

type Upgrade = { path: string | undefined; headers: IncomingHttpHeaders; timeoutMs: number }

/** Resolves to the head of the response with 101. Otherwise rejects with the refusal for the client. */
export async function requestUpgrade(upstream: Socket, { path, headers, timeoutMs }: Upgrade): Promise<string> {
  const answer = Promise.withResolvers<string>()
  const timer = setTimeout(() => answer.reject(refuse.upgrade_late()), timeoutMs)
  const upgrade = sendRequest({ path, headers, createConnection: () => upstream })
  upgrade.on('error', () => answer.reject(refuse.upgrade_broken()))
  upgrade.once('response', (response) => {
    response.resume()
    answer.reject(refusalOf(response))
  })
  upgrade.once('upgrade', (response, _socket, firstBytes) => {
    if (firstBytes.length > 0) upstream.unshift(firstBytes)
    answer.resolve(headOf(response))
  })
  upgrade.end()
  return await answer.promise.finally(() => clearTimeout(timer))
}

function headOf({ rawHeaders }: IncomingMessage): string {
  const lines = ['HTTP/1.1 101 Switching Protocols']
  for (let index = 0; index < rawHeaders.length; index += 2)
    lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

function refusalOf({ statusCode, headers }: IncomingMessage): Refusal {
  const retryAfter = Number(headers['retry-after']) || 1
  const fields = { message: 'Rate limit exceeded', retryAfter } as const
  if (statusCode === 429) return refuse.rate_limited({ fields, headers: { 'Retry-After': String(retryAfter) } })
  if (statusCode === 503) return refuse.unavailable({ headers: { 'Retry-After': String(retryAfter) } })
  return refusals.get(statusCode ?? 0)?.() ?? refuse.upgrade_broken()
}

const refusals = new Map([
  [400, refuse.malformed_request],
  [403, refuse.forbidden],
  [404, refuse.not_found],
  [426, refuse.upgrade_required],
])
