import type { Outbound } from '@gatehouse/outbound'
import type { Ports } from '@gatehouse/service-kit'
import type { Background } from './background.ts'
import type { FederationFanoutConfig } from './config.ts'

/** What this service's operations may use. */
export type Deps = Ports & {
  config: Pick<FederationFanoutConfig, 'publicAddress' | 'reach'>
  outbound: Outbound
  background: Background
}
