import { Agent, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { refuse, type Refusal } from '@gatehouse/runtime'
import { createProxyServer } from 'http-proxy'
import type { Deps } from '../deps.ts'
import { endWithError } from '../http/client-errors.ts'

export type Upgrade = {
  request: IncomingMessage
  requestId: string
  socket: Socket
  head: Buffer
  upstream: Socket
  replica: { origin: string }
  onOpen: () => void
  onRefused: (status: number) => void
}

class SingleSocketAgent extends Agent {
  readonly #socket: Socket
  constructor(socket: Socket) {
    super()
    this.#socket = socket
  }
  override createConnection(): Socket {
    return this.#socket
  }
}

/** http-proxy alone has no response timeout and leaves the connection open when an upgrade fails. */
export function createWebSocketProxy({ timeouts, log }: Pick<Deps, 'timeouts' | 'log'>) {
  const proxy = createProxyServer({ ws: true })
  const outgoing = new WeakMap<IncomingMessage, ClientRequest>()
  proxy.on('proxyReqWs', (upgradeRequest, request) => void outgoing.set(request, upgradeRequest))
  proxy.on('error', () => undefined)

  function forwardUpgrade({ request, requestId, socket, head, upstream, replica, onOpen, onRefused }: Upgrade): void {
    let isSettled = false
    const settle = (): void => {
      isSettled = true
      clearTimeout(timer)
    }
    const refuseWith = (refusal: Refusal): void => {
      if (isSettled) return
      settle()
      if (!socket.destroyed) {
        const { status } = refusal
        onRefused(status)
        log.debug({ requestId, replica: replica.origin, status }, 'websocket upgrade refused')
        endWithError(socket, refusal, requestId)
      }
      upstream.destroy()
    }
    const timer = setTimeout(() => refuseWith(refuse.upgrade_late()), timeouts.upgradeMs)
    socket.once('close', () => clearTimeout(timer))
    const options = { target: replica.origin, agent: new SingleSocketAgent(upstream) }
    proxy.ws(request, socket, head, options, () => refuseWith(refuse.upgrade_broken()))
    const upgradeRequest = outgoing.get(request)
    upgradeRequest?.once('upgrade', () => {
      settle()
      onOpen()
    })
    // http-proxy would stream the refusal to the client.
    upgradeRequest?.removeAllListeners('response')
    upgradeRequest?.once('response', (response) => {
      response.resume()
      refuseWith(refusalOf(response))
    })
  }

  return { forwardUpgrade, [Symbol.dispose]: (): void => proxy.close() }
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
