import type { OutboxRelay } from '@gatehouse/bus'
import type { Outbound } from '@gatehouse/outbound'
import type { PeriodicTask } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type { BackgroundTasks } from './background.ts'
import type { FederationFanoutConfig } from './config.ts'
import type { ProvenAddresses } from './requests/proven-addresses.ts'

/** What this service opens: no Redis, because nothing of it is cached. */
export type FederationResources = Omit<Resources, 'accountStateCache'>

/** What this service's operations may use. */
export type Deps = FederationResources & {
  config: Pick<FederationFanoutConfig, 'publicAddress' | 'reach'>
  outbound: Outbound
  relay: OutboxRelay
  background: BackgroundTasks
  provenAddresses: ProvenAddresses
  /** Sends what the stored states demand. */
  maintenance: PeriodicTask
}
