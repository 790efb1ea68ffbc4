import type { EncryptionKey, ReceiptKeys } from '@gatehouse/auth'
import type { Outbound } from '@gatehouse/outbound'
import type { OutboxRelay } from '@gatehouse/outbox'
import type { BackgroundTasks, PeriodicTask } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type { FederationFanoutConfig } from './config.ts'
import type { SigningNetworks } from './requests/signing-networks.ts'

/** No Redis: nothing is cached. */
export type FederationResources = Omit<Resources, 'accountStateCache'>

export type Deps = FederationResources & {
  config: Pick<FederationFanoutConfig, 'publicAddress' | 'reach'>
  outbound: Outbound
  relay: OutboxRelay
  background: BackgroundTasks
  signingNetworks: SigningNetworks
  maintenance: PeriodicTask
  encryptionKey: EncryptionKey
  receiptKeys: ReceiptKeys
}
