import { accountSessionsEnded } from '@gatehouse/contracts'
import { startHttp, type Ports, type RunningService } from '@gatehouse/service-kit'
import type { SessionGatewayConfig } from './config.ts'
import { endSessions } from './disconnects/end-sessions.ts'
import { sweepSessions } from './disconnects/sweep-sessions.ts'
import { openDeps } from './open-deps.ts'
import { watchNodes } from './presence/watch-nodes.ts'
import { repeat } from './repeat.ts'
import { acceptSockets } from './socket/accept-sockets.ts'

export { readConfig, type SessionGatewayConfig } from './config.ts'

/** Starts a session gateway: live connections, presence and forced disconnects. */
export async function startSessionGateway(config: SessionGatewayConfig, ports: Ports): Promise<RunningService> {
  await using opening = new AsyncDisposableStack()
  let accepting = () => false
  const service = {
    ...config,
    name: 'session-gateway',
    portVariable: 'SESSION_GATEWAY_PORT',
    routers: [],
    readiness: { accepting: () => accepting() },
  }
  const http = opening.use(await startHttp(service, ports))
  const { deps, node } = await openDeps(opening, config, ports)
  opening.use(await watchNodes(deps, node, config.onlyNode ?? false))
  opening.use(
    await ports.bus.listen(accountSessionsEnded, async ({ payload }) => {
      endSessions(deps, payload)
      const { userId, reason, audience } = payload
      if (reason !== 'account_deleted' || !audience) return
      // The memberships went with the account, so nobody could look up any more who is to hear of it.
      deps.broadcaster.deliver({ userId, status: 'offline', version: Number.MAX_SAFE_INTEGER, recipients: audience })
    }),
  )
  const sweep = { name: 'sweep of sessions', everyMs: deps.timings.sweepMs, log: deps.log }
  opening.use(repeat(sweep, () => sweepSessions(deps)))
  const sockets = opening.use(acceptSockets(deps, http.server))
  accepting = sockets.accepting
  const open = opening.move()
  return { ...http, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
