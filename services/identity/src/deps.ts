import type { EncryptionKey, TokenKey } from '@gatehouse/auth'
import type { pictureFields } from '@gatehouse/contracts'
import type { User } from '@gatehouse/domain'
import type { Outbound } from '@gatehouse/outbound'
import type { OutboxRelay } from '@gatehouse/outbox'
import type { Providers } from '@gatehouse/providers'
import type { Quota, Timer } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type { ImageConverter, UploadStore } from '@gatehouse/uploads'
import type { UpstreamQuestionName, UpstreamQuestions } from '@gatehouse/upstreams'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { AfterCommit } from './after-commit.ts'
import type { IdentityConfig } from './config.ts'
import type { PasswordHasher } from './hashing/password-hasher.ts'
import type { ProofKeys } from './operations/registration/proof-keys.ts'
import type { UploadCleanup } from './uploads/upload-cleanup.ts'

export type OperationContext = Pick<
  Deps,
  'orm' | 'clock' | 'random' | 'log' | 'databaseTime' | 'revocationWaits' | 'afterCommit'
>

export type Deps = Resources & {
  /** In milliseconds, `afterMs` later. Tokens are issued and revoked at it, because the clocks of replicas may differ. */
  databaseTime: (em: EntityManager, afterMs?: number) => Promise<number>
  /** Of the process: each wait for the next second holds a connection. */
  revocationWaits: Quota
  /** Of the periodic tasks. */
  timer: Timer
  config: IdentityConfig
  hasher: PasswordHasher
  relay: OutboxRelay
  afterCommit: AfterCommit
  outbound: Outbound
  tokenKey: TokenKey
  encryptionKey: EncryptionKey
  proofKeys: ProofKeys
  images: ImageConverter
  freeDiskBytes: (folder: string) => Promise<number>
  uploadStore: UploadStore
  uploadCleanup: UploadCleanup
  /** A later one of the same field takes its place. Beyond the queue it is left out. */
  remotePictures: { fetchLater(picture: RemotePicture): void; idle(): Promise<void> }
  /** Further services: who answers a question, and the question itself. docs/integrate/ask-and-answer.md. */
  upstreams: Pick<UpstreamQuestions, 'ask'> & { answering(question: UpstreamQuestionName): string[] }
  providers: Providers
  /** Of the process: each export may hold a connection of the gateway. */
  exportQuota: Quota
}

export type RemotePicture = {
  /** As it was when its profile was applied. */
  user: Pick<User, 'id' | 'profileUpdatedAt'>
  field: (typeof pictureFields)[number]
  url: string
  /** Pictures of other origins are not fetched. */
  origin: string
}
