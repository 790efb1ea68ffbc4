import type { TokenKey } from '@gatehouse/auth'
import type { OutboxRelay } from '@gatehouse/bus'
import type { Outbound } from '@gatehouse/outbound'
import type { Resources } from '@gatehouse/service-kit'
import type { AfterCommit } from './after-commit.ts'
import type { IdentityConfig } from './config.ts'
import type { PasswordHasher } from './hashing/password-hasher.ts'
import type { IdentityMetrics } from './metrics.ts'
import type { ImageConverter } from './uploads/image-converter.ts'
import type { UploadCleanup } from './uploads/upload-cleanup.ts'

/** What every operation may use: the database, the time, randomness and the log. */
export type OperationContext = Pick<Resources, 'orm' | 'clock' | 'random' | 'log'>

/** Everything that this service consists of; each operation names what it uses. */
export type Deps = Resources & {
  config: IdentityConfig
  counters: IdentityMetrics
  hasher: PasswordHasher
  relay: OutboxRelay
  afterCommit: AfterCommit
  outbound: Outbound
  tokenKey: TokenKey
  images: ImageConverter
  uploadCleanup: UploadCleanup
}
