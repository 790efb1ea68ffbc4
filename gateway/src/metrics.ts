import type { Metrics } from '@gatehouse/service-kit'

type Gauges = { openSockets: () => number; waitingRequests: () => number }
export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>

/** Labels never contain client input. A lookup by labels costs more than counting. */
export function createGatewayMetrics(metrics: Metrics, gauges: Gauges) {
  const requests = metrics.counter('gatehouse_gateway_requests_total', 'Requests answered', ['route', 'status'])
  const seconds = metrics.histogram('gatehouse_gateway_request_seconds', 'Time to answer a request', ['route'])
  const limited = metrics.counter('gatehouse_gateway_limited_total', 'Requests over a limit', ['limit'])
  const local = 'Requests counted by this process alone, because Redis did not answer'
  const locally = metrics.counter('gatehouse_gateway_limits_counted_locally_total', local, ['limit'])
  const [ofReason, ofFailure] = [['reason'], ['service', 'reason']]
  const rejected = metrics.counter('gatehouse_gateway_auth_refusals_total', 'Requests without a valid token', ofReason)
  const upstream = metrics.histogram('gatehouse_gateway_upstream_seconds', 'Time until a service responds', ['service'])
  const help = 'Requests that a service failed'
  const failures = metrics.counter('gatehouse_gateway_upstream_failures_total', help, ofFailure)
  const refused = metrics.counter('gatehouse_gateway_refused_connections_total', 'Connections over a limit', ofReason)
  const lag = metrics.histogram('gatehouse_gateway_revocation_lag_seconds', 'From a revocation to its event')
  metrics.gauge('gatehouse_gateway_open_sockets', 'Client connections under /ws', gauges.openSockets)
  const waiting = 'Requests that wait for a connection to a service'
  metrics.gauge('gatehouse_gateway_waiting_requests', waiting, gauges.waitingRequests)

  const requestsOf = memoize((route: string) => memoize((status: number) => requests.labels({ route, status })))
  const secondsOf = memoize((route: string) => seconds.labels({ route }))
  const upstreamOf = memoize((service: string) => upstream.labels({ service }))
  return {
    responseSent: (route: string, status: number, took: number) => {
      requestsOf(route)(status).inc()
      secondsOf(route).observe(took)
    },
    rateLimited: (limit: string) => limited.inc({ limit }),
    limitCountedLocally: (limit: string) => locally.inc({ limit }),
    authRejected: (reason: string) => rejected.inc({ reason }),
    connectionRefused: (reason: 'network' | 'total' | 'sockets') => refused.inc({ reason }),
    upstreamResponded: (service: string, took: number) => upstreamOf(service).observe(took),
    upstreamFailed: (service: string, reason: string) => failures.inc({ service, reason }),
    revocationApplied: (lagSeconds: number) => lag.observe(lagSeconds),
  }
}

function memoize<K, T>(create: (key: K) => T): (key: K) => T {
  const values = new Map<K, T>()
  return (key) => {
    const value = values.get(key)
    if (value !== undefined) return value
    const created = create(key)
    values.set(key, created)
    return created
  }
}
