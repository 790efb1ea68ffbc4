import type { EncryptionKey, TokenKey } from '@gatehouse/auth'
import type { OutboxRelay } from '@gatehouse/bus'
import type { Outbound } from '@gatehouse/outbound'
import type { Quota } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { AfterCommit } from './after-commit.ts'
import type { IdentityConfig } from './config.ts'
import type { PasswordHasher } from './hashing/password-hasher.ts'
import type { IdentityMetrics } from './metrics.ts'
import type { ImageConverter } from './uploads/image-converter.ts'
import type { RemotePictures } from './operations/federation/remote-pictures.ts'
import type { UploadCleanup } from './uploads/upload-cleanup.ts'
import type { Upstreams } from './upstreams/open-upstreams.ts'
import type { UploadStore } from './uploads/upload-store.ts'

export type OperationContext = Pick<Resources, 'orm' | 'clock' | 'random' | 'log'> & { databaseTime: DatabaseTime }

/** In milliseconds. Tokens are issued and revoked at it, because the clocks of replicas may differ. */
export type DatabaseTime = (em: EntityManager) => Promise<number>

export type Deps = Resources & {
  databaseTime: DatabaseTime
  config: IdentityConfig
  counters: IdentityMetrics
  hasher: PasswordHasher
  relay: OutboxRelay
  afterCommit: AfterCommit
  outbound: Outbound
  tokenKey: TokenKey
  encryptionKey: EncryptionKey
  images: ImageConverter
  freeDiskBytes: (folder: string) => Promise<number>
  uploadStore: UploadStore
  uploadCleanup: UploadCleanup
  remotePictures: RemotePictures
  upstreams: Upstreams
  /** Of the process: each export may hold a connection of the gateway. */
  exportQuota: Quota
}
