import type { AccountStates } from '@gatehouse/authority'
import type { Timer } from '@gatehouse/runtime'
import type { Metrics, Resources } from '@gatehouse/service-kit'
import type { Timings } from './policy.ts'

/** Accounts are read from the database, not from Redis. docs/decisions/sockets.md. */
export type SessionGatewayResources = Omit<Resources, 'accountStateCache'>

export type OperationContext = SessionGatewayResources & {
  timer: Timer
  timings: Timings
  sessionMetrics: ReturnType<typeof createSessionMetrics>
  accountStates: AccountStates
}

type Sockets = { authenticated(): number; unauthenticated(): number }

export function createSessionMetrics(metrics: Metrics, sockets: Sockets) {
  metrics.gauge('gatehouse_sockets_authenticated', 'Open sockets that are authenticated', sockets.authenticated)
  metrics.gauge('gatehouse_sockets_unauthenticated', 'Open sockets that are not', sockets.unauthenticated)
  const labels = ['upstream', 'outcome']
  const forcedDisconnects = metrics.counter('gatehouse_forced_disconnects_total', 'Sockets closed by force', ['reason'])
  forcedDisconnects.inc({ reason: 'too_many_connections' }, 0)
  return {
    handshakes: metrics.counter('gatehouse_handshakes_total', 'Ended handshakes', ['outcome']),
    forcedDisconnects,
    slowReaders: metrics.counter('gatehouse_slow_readers_total', 'Sockets terminated because the peer did not read'),
    floodingSockets: metrics.counter('gatehouse_flooding_sockets_total', 'Sockets ended because of a flood of frames'),
    presenceChanges: metrics.counter('gatehouse_presence_changes_total', 'Changes of presence', ['status']),
    nodesEvicted: metrics.counter('gatehouse_session_nodes_evicted_total', 'Dead session gateways evicted'),
    upstreamMessages: metrics.counter('gatehouse_upstream_messages_total', 'Messages to and from upstreams', labels),
    upstreamReadyParts: metrics.counter(
      'gatehouse_upstream_ready_parts_total',
      'Parts of ready asked of upstreams',
      labels,
    ),
  }
}
