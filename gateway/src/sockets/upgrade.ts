import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { acceptRequestId, requestIdHeader } from '@gatehouse/service-kit'
import { callerHeader } from '@gatehouse/auth'
import { vouch } from '../authenticate.ts'
import { endWithError } from '../client-errors.ts'
import type { Deps } from '../deps.ts'
import type { Replica } from '../forwarding/replicas.ts'
import { connectReplica } from './connect-replica.ts'
import { createLegs } from './legs.ts'
import { createSocketProxy } from './socket-proxy.ts'

type Needs = Pick<Deps, 'replicas' | 'patience' | 'clientAddress' | 'callerKey' | 'clock' | 'random' | 'log'>

/** Whether a request with `Upgrade` is one for a socket; others are answered as if they had not asked. */
export function isSocketRequest({ method, url, headers }: IncomingMessage): boolean {
  return method === 'GET' && url?.split('?', 1)[0] === '/ws' && headers.upgrade?.toLowerCase() === 'websocket'
}

/**
 * Takes `/ws` upgrades to a session gateway, the next one when the first refuses the connection. Both connections of a
 * socket end together, whatever happens to either. Closing it gives session gateways time to say goodbye.
 */
export function takeUpgrades(deps: Needs) {
  const legs = createLegs()
  const proxy = createSocketProxy(deps)
  const sessions = deps.replicas['session-gateway']

  async function take(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const client = legs.add(socket)
    prepare(deps, request)
    const tried: Replica[] = []
    for (let replica = sessions.pick(); replica; replica = sessions.pick(tried)) {
      tried.push(replica)
      const upstream = await connectReplica(replica.origin, deps.patience.connectMs)
      if (upstream) {
        sessions.praise(replica)
        client.pairWith(upstream)
        return proxy.hand({ request, socket, head, upstream, origin: replica.origin })
      }
      sessions.rest(replica)
      if (socket.destroyed) return
    }
    deps.log.warn({ requestId: request.headers[requestIdHeader] }, 'no session gateway takes sockets')
    endWithError(socket, 503, 'No session gateway is reachable, please try again')
  }

  return {
    take: (request: IncomingMessage, socket: Socket, head: Buffer) => {
      take(request, socket, head).catch((error: unknown) => {
        deps.log.error({ error }, 'upgrade failed')
        socket.destroy()
      })
    },
    open: () => legs.count(),
    [Symbol.asyncDispose]: async () => {
      await legs.close(deps.patience.farewellMs)
      proxy.close()
    },
  }
}

/** Takes away what only the gateway may say, and says it. Design: invariant 6. */
function prepare(deps: Needs, { headers, socket }: IncomingMessage): void {
  const forwardedFor = headers['x-forwarded-for'] as string | undefined
  const address = deps.clientAddress(socket.remoteAddress, forwardedFor)
  for (const name of Object.keys(headers)) {
    if (/^(x-gatehouse-|x-forwarded-|forwarded$|x-real-ip$|authorization$|cookie$)/.test(name)) delete headers[name]
  }
  headers[callerHeader] = vouch(deps, { address, account: null })
  headers[requestIdHeader] = acceptRequestId(headers[requestIdHeader], deps.random)
}
