import type { AccountStates } from '@gatehouse/auth'
import type { Timer } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type { SessionMetrics } from './metrics.ts'
import type { Timings } from './policy.ts'

/** Accounts are read from the database, not from Redis. docs/decisions/socket-messages.md. */
export type SessionGatewayResources = Omit<Resources, 'accountStateCache'>

export type OperationContext = SessionGatewayResources & {
  timer: Timer
  timings: Timings
  sessionMetrics: SessionMetrics
  accountStates: AccountStates
}
