import type { StateAnnouncer, TokenKey } from '@gatehouse/auth'
import type { Outbound } from '@gatehouse/outbound'
import type { startOutboxRelay } from '@gatehouse/bus'
import type { Ports } from '@gatehouse/service-kit'
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
