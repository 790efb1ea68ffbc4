import type { Metrics } from '@gatehouse/service-kit'
import type { Counter } from 'prom-client'

/** What an operator sees of sockets and presence. */
export type SessionMetrics = {
  handshakes: Counter
  forcedDisconnects: Counter
  slowReaders: Counter
  presenceChanges: Counter
  nodesReaped: Counter
}

export function createSessionMetrics(
  metrics: Metrics,
  read: { authenticated(): number; unauthenticated(): number },
): SessionMetrics {
  metrics.gauge('gatehouse_sockets_authenticated', 'Open sockets that have proved who is there', read.authenticated)
  metrics.gauge('gatehouse_sockets_unauthenticated', 'Open sockets that have not', read.unauthenticated)
  return {
    handshakes: metrics.counter('gatehouse_handshakes_total', 'Ended handshakes', ['outcome']),
    forcedDisconnects: metrics.counter('gatehouse_forced_disconnects_total', 'Sockets closed by force', ['reason']),
    slowReaders: metrics.counter('gatehouse_slow_readers_total', 'Sockets cut because the peer did not read'),
    presenceChanges: metrics.counter('gatehouse_presence_changes_total', 'Users who came or went', ['status']),
    nodesReaped: metrics.counter('gatehouse_session_nodes_reaped_total', 'Dead session gateways cleared away'),
  }
}
