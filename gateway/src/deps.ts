import type { AccountStates, CallerKey } from '@gatehouse/auth'
import type { ServiceName } from '@gatehouse/contracts'
import type { EdgePorts } from '@gatehouse/service-kit'
import type { ClientAddress } from './client-address.ts'
import type { GatewayConfig } from './config.ts'
import type { EdgeMetrics } from './edge-metrics.ts'
import type { Replicas } from './forwarding/replicas.ts'
import type { Patience } from './policy.ts'
import type { RateLimits } from './rate-limits.ts'
import type { KnownToken } from './remembered-tokens.ts'
import type { StandingHeaders } from './standing-headers.ts'
import type { WebFiles } from './web/web-files.ts'

/** What the gateway works with. */
export type Deps = EdgePorts & {
  config: GatewayConfig
  patience: Patience
  callerKey: CallerKey
  findToken: (token: string, now: number) => KnownToken | undefined
  accountStates: AccountStates
  clientAddress: ClientAddress
  rateLimits: RateLimits
  replicas: Record<ServiceName, Replicas>
  standing: StandingHeaders
  edgeMetrics: EdgeMetrics
  web: WebFiles
}
