import type { Timer } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type { SessionMetrics } from './metrics.ts'
import type { Timings } from './policy.ts'

/** Handshakes read accounts from the database, not from Redis. */
export type SessionGatewayResources = Omit<Resources, 'accountStateCache'>

export type OperationContext = SessionGatewayResources & {
  timer: Timer
  timings: Timings
  sessionMetrics: SessionMetrics
}
