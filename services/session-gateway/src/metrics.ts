import type { Metrics } from '@gatehouse/service-kit'

export type SessionMetrics = ReturnType<typeof createSessionMetrics>

export function createSessionMetrics(metrics: Metrics, read: { authenticated(): number; unauthenticated(): number }) {
  metrics.gauge('gatehouse_sockets_authenticated', 'Open sockets that are authenticated', read.authenticated)
  metrics.gauge('gatehouse_sockets_unauthenticated', 'Open sockets that are not', read.unauthenticated)
  const forcedDisconnects = metrics.counter('gatehouse_forced_disconnects_total', 'Sockets closed by force', ['reason'])
  forcedDisconnects.inc({ reason: 'too_many_connections' }, 0)
  return {
    handshakes: metrics.counter('gatehouse_handshakes_total', 'Ended handshakes', ['outcome']),
    forcedDisconnects,
    slowReaders: metrics.counter('gatehouse_slow_readers_total', 'Sockets terminated because the peer did not read'),
    floodingSockets: metrics.counter('gatehouse_flooding_sockets_total', 'Sockets ended because of a flood of frames'),
    presenceChanges: metrics.counter('gatehouse_presence_changes_total', 'Changes of presence', ['status']),
    nodesEvicted: metrics.counter('gatehouse_session_nodes_evicted_total', 'Dead session gateways evicted'),
    upstreamMessages: metrics.counter('gatehouse_upstream_messages_total', 'Messages to and from upstreams', [
      'upstream',
      'outcome',
    ]),
    upstreamReadyParts: metrics.counter('gatehouse_upstream_ready_parts_total', 'Parts of ready asked of upstreams', [
      'upstream',
      'outcome',
    ]),
  }
}
