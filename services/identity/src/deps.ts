import type { StateAnnouncer } from '@gatehouse/account-states'
import type { Outbound } from '@gatehouse/outbound'
import type { startOutboxRelay } from '@gatehouse/outbox'
import type { Ports } from '@gatehouse/ports'
import type { TokenKey } from '@gatehouse/tokens'
import type { IdentityConfig } from './config.ts'
import type { PasswordHasher } from './hashing/password-hasher.ts'
import type { ImageConverter } from './uploads/image-converter.ts'
import type { UploadSweep } from './uploads/sweep.ts'

/** What this service's operations may use. */
export type Deps = Ports & {
  config: IdentityConfig
  hasher: PasswordHasher
  announcer: StateAnnouncer
  relay: ReturnType<typeof startOutboxRelay>
  outbound: Outbound
  tokenKey: TokenKey
  images: ImageConverter
  uploadSweep: UploadSweep
}
