import type { TokenKey } from '@gatehouse/auth'
import type { OutboxRelay } from '@gatehouse/bus'
import type { Outbound } from '@gatehouse/outbound'
import type { Resources } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { AfterCommit } from './after-commit.ts'
import type { IdentityConfig } from './config.ts'
import type { PasswordHasher } from './hashing/password-hasher.ts'
import type { IdentityMetrics } from './metrics.ts'
import type { ImageConverter } from './uploads/image-converter.ts'
import type { RemotePictures } from './operations/federation/remote-pictures.ts'
import type { ExportQuota } from './operations/export/export-quota.ts'
import type { UploadCleanup } from './uploads/upload-cleanup.ts'

/** What every operation may use: the database, the time, randomness and the log. */
export type OperationContext = Pick<Resources, 'orm' | 'clock' | 'random' | 'log'> & { databaseTime: DatabaseTime }

/**
 * The time in the transaction of `em`, in milliseconds. Tokens are issued and revoked at it: the clocks of replicas may
 * differ, and a token of one that is ahead would survive a change on the other.
 */
export type DatabaseTime = (em: EntityManager) => Promise<number>

/** Everything that this service consists of; each operation names what it uses. */
export type Deps = Resources & {
  databaseTime: DatabaseTime
  config: IdentityConfig
  counters: IdentityMetrics
  hasher: PasswordHasher
  relay: OutboxRelay
  afterCommit: AfterCommit
  outbound: Outbound
  tokenKey: TokenKey
  images: ImageConverter
  /** Bytes that may still be written to the disk of a folder. */
  freeDiskBytes: (folder: string) => Promise<number>
  uploadCleanup: UploadCleanup
  remotePictures: RemotePictures
  exportQuota: ExportQuota
}
