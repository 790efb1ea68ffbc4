import type { ServiceName } from '@gatehouse/contracts'
import type { Metrics } from '@gatehouse/service-kit'

/** What the gateway counts. Labels come from tables of the contract, never from what a client sends. */
export type EdgeMetrics = {
  answered(route: string, status: number, seconds: number): void
  limited(limit: string): void
  turnedAway(reason: string): void
  upstreamAnswered(service: ServiceName, seconds: number): void
  upstreamFailed(service: ServiceName, reason: string): void
  revocationHeard(lagSeconds: number): void
}

/** Keeps the metric of each combination at hand, since looking it up by labels costs more than counting. */
export function createEdgeMetrics(metrics: Metrics, openSockets: () => number): EdgeMetrics {
  const requests = metrics.counter('gatehouse_gateway_requests_total', 'Requests answered', ['route', 'status'])
  const seconds = metrics.histogram('gatehouse_gateway_request_seconds', 'Time to answer a request', ['route'])
  const limited = metrics.counter('gatehouse_gateway_limited_total', 'Requests over a limit', ['limit'])
  const turnedAway = metrics.counter('gatehouse_gateway_auth_refusals_total', 'Requests without a live token', [
    'reason',
  ])
  const upstream = metrics.histogram('gatehouse_gateway_upstream_seconds', 'Time until a service answers', ['service'])
  const failures = metrics.counter('gatehouse_gateway_upstream_failures_total', 'Services that did not answer', [
    'service',
    'reason',
  ])
  const lag = metrics.histogram('gatehouse_gateway_revocation_lag_seconds', 'From a change of an account to its event')
  metrics.gauge('gatehouse_gateway_open_sockets', 'Client connections under /ws', openSockets)

  const requestsOf = remember((key: string) => {
    const [route = '', status = ''] = key.split(' ')
    return requests.labels({ route, status })
  })
  const secondsOf = remember((route: string) => seconds.labels({ route }))
  const upstreamOf = remember((service: string) => upstream.labels({ service }))
  return {
    answered: (route, status, took) => {
      requestsOf(`${route} ${status}`).inc()
      secondsOf(route).observe(took)
    },
    limited: (limit) => limited.inc({ limit }),
    turnedAway: (reason) => turnedAway.inc({ reason }),
    upstreamAnswered: (service, took) => upstreamOf(service).observe(took),
    upstreamFailed: (service, reason) => failures.inc({ service, reason }),
    revocationHeard: (lagSeconds) => lag.observe(lagSeconds),
  }
}

function remember<T>(make: (key: string) => T): (key: string) => T {
  const made = new Map<string, T>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const fresh = make(key)
    made.set(key, fresh)
    return fresh
  }
}
