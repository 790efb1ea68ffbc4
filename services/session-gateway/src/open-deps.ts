import { createCallerKey, createTokenKey } from '@gatehouse/auth'
import type { Ports } from '@gatehouse/service-kit'
import type { SessionGatewayConfig } from './config.ts'
import { createConnections } from './connections.ts'
import { createDeadlines } from './deadlines.ts'
import type { Deps } from './deps.ts'
import { createSessionMetrics } from './metrics.ts'
import { timings } from './policy.ts'
import { createBroadcaster } from './presence/broadcaster.ts'
import { createPresenceKeeper } from './presence/presence-keeper.ts'
import { enrolNode, type SessionNode } from './presence/session-node.ts'
import { createAddressQuota } from './socket/address-quota.ts'
import { checkPeer } from './socket/check-peer.ts'
import { refuseLate } from './socket/handshake.ts'

/** Puts together what sockets work with. What has to be closed is added to `opening`. */
export async function openDeps(
  opening: AsyncDisposableStack,
  config: SessionGatewayConfig,
  ports: Ports,
): Promise<{ deps: Deps; node: SessionNode }> {
  const connections = createConnections()
  const quota = createAddressQuota()
  const meters = createSessionMetrics(ports.metrics, {
    authenticated: () => connections.readyCount(),
    unauthenticated: () => quota.size,
  })
  const base = { ...ports, timings: { ...timings, ...config.timings }, connections, quota, meters }
  const node = await enrolNode(base)
  const broadcaster = createBroadcaster({ ...base, node })
  const keeper = createPresenceKeeper({ ...base, broadcaster, node })
  opening.use(keeper)
  const deps: Deps = {
    ...base,
    tokenKey: createTokenKey(config.jwtSecret),
    callerKey: createCallerKey(config.internalSecret),
    broadcaster,
    presence: keeper,
    unproven: createDeadlines(base.timings.authTimeoutMs, (socket) => refuseLate(deps, socket)),
    pings: createDeadlines(base.timings.pingMs, (socket) => checkPeer(deps, socket)),
    braked: createDeadlines(1_000, (socket) => socket.resume()),
  }
  opening.defer(() => {
    for (const deadlines of [deps.unproven, deps.pings, deps.braked]) deadlines.stop()
  })
  return { deps, node }
}
