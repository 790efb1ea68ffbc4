import { Agent, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
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
  /** The session gateway has taken the upgrade. */
  onOpen: () => void
  onRefused: (status: number) => void
}

export type WebSocketProxy = Disposable & { forwardUpgrade(upgrade: Upgrade): void }

/** Uses one connection that is open already. */
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

/**
 * http-proxy with what it lacks: a timeout for the session gateway's response, and an error response to the client when
 * the session gateway refuses the upgrade or breaks off. http-proxy alone leaves the connection open as long as the
 * client likes.
 */
export function createWebSocketProxy({ timeouts, log }: Pick<Deps, 'timeouts' | 'log'>): WebSocketProxy {
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
    const refuse = (status: number, error: { message?: string; retryAfterSeconds?: number | undefined } = {}): void => {
      if (isSettled) return
      settle()
      if (!socket.destroyed) {
        onRefused(status)
        log.debug({ requestId, replica: replica.origin, status }, 'websocket upgrade refused')
        endWithError(socket, status, { ...error, requestId })
      }
      upstream.destroy()
    }
    const late = { message: 'The service did not answer in time' }
    const timer = setTimeout(refuse, timeouts.upgradeMs, 504, late)
    socket.once('close', () => clearTimeout(timer))
    const options = { target: replica.origin, agent: new SingleSocketAgent(upstream) }
    proxy.ws(request, socket, head, options, () => refuse(502, { message: 'The service broke off' }))
    const upgradeRequest = outgoing.get(request)
    upgradeRequest?.once('upgrade', () => {
      settle()
      onOpen()
    })
    // http-proxy would send a refusal to the client as it comes, its body for as long as that lasts.
    upgradeRequest?.removeAllListeners('response')
    upgradeRequest?.once('response', (response) => {
      response.resume()
      const retryAfterSeconds = Number(response.headers['retry-after']) || undefined
      refuse(response.statusCode ?? 502, { retryAfterSeconds })
    })
  }

  return { forwardUpgrade, [Symbol.dispose]: () => proxy.close() }
}
