import type { AccountStates } from '@gatehouse/auth'
import type { Timer } from '@gatehouse/runtime'
import type { Metrics, Resources } from '@gatehouse/service-kit'
import type { Timings } from './policy.ts'

/** Accounts are read from the database, not from Redis. docs/decisions/socket-messages.md. */
export type SessionGatewayResources = Omit<Resources, 'accountStateCache'>

export type OperationContext = SessionGatewayResources & {
  timer: Timer
  timings: Timings
  sessionMetrics: ReturnType<typeof createSessionMetrics>
  accountStates: AccountStates
}

type Sockets = { authenticated(): number; unauthenticated(): number }

export function createSessionMetrics({ counter, gauge }: Metrics, sockets: Sockets) {
  gauge('gatehouse_sockets_authenticated', 'Open sockets that are authenticated', sockets.authenticated)
  gauge('gatehouse_sockets_unauthenticated', 'Open sockets that are not', sockets.unauthenticated)
  const labels = ['upstream', 'outcome']
  const forcedDisconnects = counter('gatehouse_forced_disconnects_total', 'Sockets closed by force', ['reason'])
  forcedDisconnects.inc({ reason: 'too_many_connections' }, 0)
  return {
    handshakes: counter('gatehouse_handshakes_total', 'Ended handshakes', ['outcome']),
    forcedDisconnects,
    slowReaders: counter('gatehouse_slow_readers_total', 'Sockets terminated because the peer did not read'),
    floodingSockets: counter('gatehouse_flooding_sockets_total', 'Sockets ended because of a flood of frames'),
    presenceChanges: counter('gatehouse_presence_changes_total', 'Changes of presence', ['status']),
    nodesEvicted: counter('gatehouse_session_nodes_evicted_total', 'Dead session gateways evicted'),
    upstreamMessages: counter('gatehouse_upstream_messages_total', 'Messages to and from upstreams', labels),
    upstreamReadyParts: counter('gatehouse_upstream_ready_parts_total', 'Parts of ready asked of upstreams', labels),
  }
}
