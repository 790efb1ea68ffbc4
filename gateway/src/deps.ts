import type { SigningKeys } from '@gatehouse/auth'
import type { AccountStates } from '@gatehouse/authority'
import type { ServiceName } from '@gatehouse/contracts'
import type { Quota } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type { TokenCache, UpstreamCallers } from './auth/callers.ts'
import type { GatewayConfig } from './config.ts'
import type { ClientAddress } from './http/client-address.ts'
import type { ResponseHeaders } from './http/headers.ts'
import type { AccessLog } from './http/request-context.ts'
import type { CallerSigner } from './http/route-target.ts'
import type { ConnectionLimits, UploadLimits } from './limits/connection-limits.ts'
import type { RateLimits } from './limits/rate-limits.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { Capacity, Timeouts } from './policy.ts'
import type { Replicas } from './replicas/replicas.ts'
import type { Upstreams } from './upstreams/open-upstreams.ts'

export type GatewayResources = Omit<Resources, 'orm'>

export type Deps = GatewayResources & {
  config: GatewayConfig
  timeouts: Timeouts
  capacity: Capacity
  clientAddress: ClientAddress
  rateLimits: RateLimits
  connectionLimits: ConnectionLimits
  requestQuota: Quota
  uploadLimits: UploadLimits
  bufferBudget: Quota
  tokenCache: TokenCache
  accountStates: AccountStates
  signers: Record<ServiceName, CallerSigner>
  signingKeys: SigningKeys
  upstreams: Upstreams
  upstreamCallers: UpstreamCallers
  replicas: Record<ServiceName, Replicas>
  responseHeaders: ResponseHeaders
  gatewayMetrics: GatewayMetrics
  accessLog: AccessLog
}
