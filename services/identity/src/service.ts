import { access, constants, mkdir } from 'node:fs/promises'
import { createCacheInvalidator, createEncryptionKey, createTokenKey } from '@gatehouse/auth'
import { startOutboxRelay, type OutboxRelay } from '@gatehouse/bus'
import {
  accountEvents,
  deletedPresence,
  inviteRedeemed,
  passkeyAdded,
  passkeyRemoved,
  secondFactorBlocked,
  settingsChanged,
} from '@gatehouse/contracts'
import { databaseTime } from '@gatehouse/database'
import { DeletionOrder } from '@gatehouse/domain'
import { createOutbound } from '@gatehouse/outbound'
import { createQuota } from '@gatehouse/runtime'
import {
  ConfigurationError,
  startHttpService,
  type Metrics,
  type Resources,
  type RunningService,
} from '@gatehouse/service-kit'
import { createAfterCommit } from './after-commit.ts'
import type { IdentityConfig } from './config.ts'
import type { Deps } from './deps.ts'
import { startPasswordHasher } from './hashing/password-hasher.ts'
import { createIdentityMetrics } from './metrics.ts'
import { policy } from './policy.ts'
import { createRemotePictures } from './operations/federation/remote-pictures.ts'
import { startRetention } from './retention.ts'
import { countOverdueDeletions, startUpstreamDeletions } from './operations/deletion/upstream-deletions.ts'
import { startOrders } from './operations/federation/deletion-orders.ts'
import { accountStateRoutes, operatorRoutes } from './routes/internal.ts'
import { adminRoutes } from './routes/admin.ts'
import { authRoutes } from './routes/auth.ts'
import { identityRoutes, userRoutes } from './routes/users.ts'
import { upstreamRoutes } from './routes/upstreams.ts'
import { uploadRoutes } from './routes/uploads.ts'
import { respondToCalls } from './rpc/calls.ts'
import { startImageConverter } from './uploads/image-converter.ts'
import { startUploadCleanup } from './uploads/upload-cleanup.ts'
import { freeDiskBytes, tempUploadDir } from './uploads/upload-files.ts'
import { openUpstreams } from './upstreams/open-upstreams.ts'
import { openUploadStore } from './uploads/open-upload-store.ts'
import { UploadStoreRefused, type UploadStore } from './uploads/upload-store.ts'

export { readConfig, type IdentityConfig } from './config.ts'

/** The invite service relays the other events of invites. */
const relayedEvents = [
  ...accountEvents,
  ...[deletedPresence, inviteRedeemed, passkeyAdded, passkeyRemoved, secondFactorBlocked, settingsChanged],
]

export async function startIdentity(
  config: IdentityConfig,
  resources: Resources,
  overrides: Partial<Deps> = {},
): Promise<RunningService & { deps: Deps }> {
  await using opening = new AsyncDisposableStack()
  await createUploadDir(config.uploadDir)
  const uploadStore = overrides.uploadStore ?? (await openStore(config, resources.log))
  const relay = opening.use(startOutboxRelay({ ...resources, events: relayedEvents }))
  const cacheInvalidator = createCacheInvalidator({ ...resources, cache: resources.accountStateCache })
  const basis = {
    ...resources,
    databaseTime,
    config,
    counters: createIdentityMetrics(resources.metrics),
    hasher: overrides.hasher ?? opening.use(startPasswordHasher({ ...config.hashing, ...resources })),
    relay,
    afterCommit: createAfterCommit({ relay, cacheInvalidator }),
    outbound: opening.use(createOutbound(config.reach)),
    tokenKey: createTokenKey(config.jwtSecret, config.previousJwtSecrets),
    encryptionKey: createEncryptionKey(config.encryptionSecret, config.previousEncryptionSecrets),
    images: opening.use(startImageConverter(resources)),
    freeDiskBytes,
    exportQuota: createQuota(1, policy.exportsAtOnce),
    uploadStore,
    uploadCleanup: opening.use(startUploadCleanup({ ...resources, config, uploadStore })),
    upstreams: opening.use(await openUpstreams(resources, config.upstreamsFile)),
    retention: opening.use(startRetention({ ...resources, config })),
    ...overrides,
  }
  const remotePictures = opening.use(createRemotePictures(basis))
  const deps: Deps = { ...basis, remotePictures, ...overrides }
  measureOutbox(resources.metrics, relay)
  measureOrders(deps)
  opening.use(await respondToCalls(deps))
  opening.use(startOrders(deps))
  opening.use(startUpstreamDeletions(deps))
  const routers = [
    accountStateRoutes(deps),
    authRoutes(deps),
    userRoutes(deps),
    identityRoutes(deps),
    uploadRoutes(deps),
    upstreamRoutes(deps),
    adminRoutes(deps),
    operatorRoutes(deps),
  ]
  const readiness = { hashing: () => deps.hasher.ready() }
  const optional = 'folder' in config.uploadStore ? {} : { uploads: () => answers(uploadStore) }
  const service = { ...config, name: 'identity', portVariable: 'IDENTITY_PORT', routers, readiness, optional }
  const http = opening.use(await startHttpService(service, resources))
  opening.defer(() => deps.hasher.drain(policy.hashingDrainMs))
  const open = opening.move()
  return { ...http, deps, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Throws ConfigurationError. */
async function createUploadDir(uploadDir: string): Promise<void> {
  const folder = tempUploadDir(uploadDir)
  try {
    await mkdir(folder, { recursive: true })
    await access(folder, constants.W_OK)
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown fault'
    throw new ConfigurationError(
      [
        `UPLOAD_DIR: cannot write to ${uploadDir} (${reason}); give this process the right to, or choose another folder`,
      ],
      { cause },
    )
  }
}

/** A store that does not answer is waited for, not the start. Throws ConfigurationError. */
async function openStore({ uploadStore }: IdentityConfig, log: Resources['log']): Promise<UploadStore> {
  const store = await openUploadStore(uploadStore)
  try {
    await store.check()
  } catch (cause) {
    if (!(cause instanceof UploadStoreRefused)) log.warn({ err: cause }, 'the store of uploads does not answer')
    else
      throw new ConfigurationError(
        [`UPLOAD_STORE: ${cause.message}; check the bucket, AWS_REGION, the keys and what they may do`],
        { cause },
      )
  }
  return store
}

async function answers(store: UploadStore): Promise<boolean> {
  await store.check()
  return true
}

function measureOutbox(metrics: Metrics, relay: OutboxRelay): void {
  metrics.gauge('gatehouse_outbox_age_seconds', 'Age of the oldest event that waits to be published', async () => {
    try {
      return (await relay.age()) / 1_000
    } catch {
      return Number.NaN // the database is away: the age is unknown
    }
  })
}

/** Contract: 7, Deletion orders; 5, Deletions at further services. */
function measureOrders({ metrics, orm, clock }: Pick<Resources, 'metrics' | 'orm' | 'clock'>): void {
  const meaning = 'Deletions ordered at peers that did not answer in 30 days'
  metrics.gauge('gatehouse_deletion_orders_overdue', meaning, () =>
    orm.em
      .fork()
      .count(DeletionOrder, { state: 'overdue' })
      .catch(() => Number.NaN),
  )
  const open = 'Deletions that a further service has not done for a day'
  metrics.gauge('gatehouse_upstream_deletions_overdue', open, () =>
    countOverdueDeletions({ orm, clock }).catch(() => Number.NaN),
  )
}
