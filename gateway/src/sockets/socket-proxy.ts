import { Agent, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { createProxyServer } from './http-proxy.ts'
import { endWithError } from '../client-errors.ts'
import type { Deps } from '../deps.ts'

type Upgrade = { request: IncomingMessage; socket: Socket; head: Buffer; upstream: Socket; origin: string }

/** Gives the one connection that is open already. */
class OneConnection extends Agent {
  readonly #connection: Socket
  constructor(connection: Socket) {
    super()
    this.#connection = connection
  }
  override createConnection(): Socket {
    return this.#connection
  }
}

/**
 * http-proxy with what it lacks: a deadline for the session gateway's answer, and an answer of ours when that one
 * refuses or breaks off, instead of a connection that stays as long as the client likes.
 */
export function createSocketProxy({ patience, log }: Pick<Deps, 'patience' | 'log'>) {
  const proxy = createProxyServer({ ws: true })
  const pending = new WeakMap<IncomingMessage, (asked: ClientRequest) => void>()
  proxy.on('proxyReqWs', (asked, request) => pending.get(request)?.(asked))
  proxy.on('error', () => undefined)

  function hand({ request, socket, head, upstream, origin }: Upgrade): void {
    const refuse = (status: number, message: string): void => {
      clearTimeout(deadline)
      log.warn({ replica: origin, status }, 'session gateway took no socket')
      if (!socket.destroyed) endWithError(socket, status, message)
      upstream.destroy()
    }
    const deadline = setTimeout(refuse, patience.upgradeMs, 504, 'The session gateway did not answer in time')
    socket.once('close', () => clearTimeout(deadline))
    pending.set(request, (asked) => {
      asked.once('upgrade', () => clearTimeout(deadline))
      asked.prependOnceListener('response', (answer: IncomingMessage & { upgrade?: boolean }) => {
        // http-proxy copies the answer's head but not its encoding; told that an upgrade happened, it leaves it to us.
        answer.upgrade = true
        answer.resume()
        refuse(answer.statusCode ?? 502, 'The session gateway does not take this socket')
      })
    })
    const options = { target: origin, agent: new OneConnection(upstream) }
    proxy.ws(request, socket, head, options, () => {
      clearTimeout(deadline)
      if (!socket.destroyed && socket.bytesWritten === 0) endWithError(socket, 502, 'The session gateway broke off')
    })
  }

  return { hand, close: () => proxy.close() }
}
