import { createEncryptionKey, createTokenKey } from '@gatehouse/auth'
import { createCacheInvalidator } from '@gatehouse/authority'
import * as events from '@gatehouse/contracts'
import { databaseTime } from '@gatehouse/database'
import { DeletionOrder, Registration } from '@gatehouse/domain'
import { createOutbound } from '@gatehouse/outbound'
import { startOutboxRelay } from '@gatehouse/outbox'
import { createProviders } from '@gatehouse/providers'
import { createQuota, systemTimer } from '@gatehouse/runtime'
import { startHttpService, watchProviders } from '@gatehouse/service-kit'
import type { Resources, RunningService } from '@gatehouse/service-kit'
import { createUploadDir, freeDiskBytes, openCheckedStore, startImageConverter } from '@gatehouse/uploads'
import { noUpstreams, UpstreamQuestions, watchUpstreams } from '@gatehouse/upstreams'
import { createAfterCommit } from './after-commit.ts'
import type { IdentityConfig } from './config.ts'
import type { Deps } from './deps.ts'
import { startPasswordHasher } from './hashing/password-hasher.ts'
import { startMailSender } from './mail/send-mails.ts'
import { startOrders } from './operations/deletion/delete-remote-identities.ts'
import { countOverdueDeletions, startUpstreamDeletions } from './operations/deletion/upstream-deletions.ts'
import { createRemotePictures } from './operations/federation/remote-pictures.ts'
import { createProofKeys } from './operations/registration/proof-keys.ts'
import { policy } from './policy.ts'
import { startRegistrationSweep, startRetention } from './operations/retention.ts'
import { adminRoutes } from './routes/admin.ts'
import { authRoutes } from './routes/auth.ts'
import { accountStateRoutes, operatorRoutes, upstreamRoutes } from './routes/internal.ts'
import { providerLogoutRoutes } from './routes/provider-logouts.ts'
import { providerRoutes } from './routes/providers.ts'
import { uploadRoutes } from './routes/uploads.ts'
import { userRoutes } from './routes/users.ts'
import { respondToCalls } from './rpc/calls.ts'
import { startUploadCleanup } from './uploads/upload-cleanup.ts'

export { readConfig, type IdentityConfig } from './config.ts'

/** The invite service relays the other events of invites. */
const relayedEvents = [
  ...events.accountEvents,
  events.deletedPresence,
  events.inviteRedeemed,
  events.settingsChanged,
  events.registrationChanged,
  events.passkeyAdded,
  events.passkeyRemoved,
  events.secondFactorBlocked,
  events.identityChanged,
]

const routes = [
  accountStateRoutes,
  authRoutes,
  providerRoutes,
  providerLogoutRoutes,
  userRoutes,
  uploadRoutes,
  upstreamRoutes,
  adminRoutes,
  operatorRoutes,
]

export async function startIdentity(
  config: IdentityConfig,
  resources: Resources,
  overrides: Partial<Deps> = {},
): Promise<RunningService & { deps: Deps }> {
  await using opening = new AsyncDisposableStack()
  await createUploadDir(config.uploadDir)
  const uploadStore = overrides.uploadStore ?? (await openCheckedStore(config.uploadStore, resources.log))
  const relay = opening.use(startOutboxRelay({ ...resources, events: relayedEvents }))
  const cacheInvalidator = createCacheInvalidator({ ...resources, cache: resources.accountStateCache })
  const timer = overrides.timer ?? systemTimer
  const { providersFile: file } = config
  const providersFile = file === undefined ? undefined : opening.use(await watchProviders(file, resources))
  const outbound = opening.use(createOutbound(config.reach))
  const basis = {
    ...resources,
    timer,
    databaseTime,
    revocationWaits: createQuota(1, policy.revocationWaitsAtOnce),
    config,
    hasher: overrides.hasher ?? opening.use(startPasswordHasher({ ...config.hashing, ...resources })),
    relay,
    afterCommit: createAfterCommit({ relay, cacheInvalidator }),
    outbound,
    providers: createProviders({ ...resources, outbound }, providersFile ?? { current: [] }),
    tokenKey: createTokenKey(config.jwtSecret, config.previousJwtSecrets),
    encryptionKey: createEncryptionKey(config.encryptionSecret, config.previousEncryptionSecrets),
    proofKeys: createProofKeys(config.encryptionSecret, config.previousEncryptionSecrets),
    images: opening.use(startImageConverter(resources)),
    freeDiskBytes,
    exportQuota: createQuota(1, policy.exportsAtOnce),
    uploadStore,
    uploadCleanup: opening.use(startUploadCleanup({ ...resources, timer, config, uploadStore })),
    upstreams: opening.use(await openUpstreams(resources, config.upstreamsFile)),
    retention: opening.use(startRetention({ ...resources, timer, config })),
    ...overrides,
  }
  const remotePictures = opening.use(createRemotePictures(basis))
  const deps: Deps = { ...basis, remotePictures, ...overrides }
  measureBacklogs(deps)
  opening.use(await respondToCalls(deps))
  opening.use(startRegistrationSweep(deps))
  opening.use(startOrders(deps))
  opening.use(startUpstreamDeletions(deps))
  opening.use(await startMailSender(deps))
  const routers = routes.map((make) => make(deps))
  const readiness = { hashing: () => deps.hasher.ready() }
  const uploads = () => uploadStore.check().then(() => true)
  const optional = {
    ...('folder' in config.uploadStore ? {} : { uploads }),
    ...(config.providersFile !== undefined && { identity_providers: () => deps.providers.check().then(() => true) }),
  }
  const service = { ...config, name: 'identity', portVariable: 'IDENTITY_PORT', routers, readiness, optional }
  const http = opening.use(await startHttpService(service, resources))
  opening.defer(() => deps.hasher.drain(policy.hashingDrainMs))
  const open = opening.move()
  return { ...http, deps, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Reads the file again on SIGHUP. Throws ConfigurationError. Contract: 8, settings, GATEHOUSE_UPSTREAMS. */
async function openUpstreams({ bus, metrics, log }: Resources, file?: string) {
  const watch = file === undefined ? noUpstreams : await watchUpstreams(file, { log })
  const questions = new UpstreamQuestions({ bus, metrics, log, timer: systemTimer })
  const upstreams: Deps['upstreams'] = {
    ask: (...args) => questions.ask(...args),
    answering: (question) => watch.current.filter(({ answers }) => answers.includes(question)).map(({ name }) => name),
  }
  return { ...upstreams, [Symbol.dispose]: () => watch[Symbol.dispose]() }
}

/** NaN: unknown while the database or the folder is away. Contract: 7, Deletion orders; 5, Deletions at further services. */
function measureBacklogs({ metrics, orm, clock, relay, config, freeDiskBytes }: Deps): void {
  const gauge = (name: string, meaning: string, count: () => Promise<number>) =>
    metrics.gauge(name, meaning, () => count().catch(() => Number.NaN))
  const ages = 'Age of the oldest event that waits to be published'
  gauge('gatehouse_outbox_age_seconds', ages, async () => (await relay.age()) / 1_000)
  const orders = 'Deletions ordered at peers that did not answer in 30 days'
  gauge('gatehouse_deletion_orders_overdue', orders, () => orm.em.fork().count(DeletionOrder, { state: 'overdue' }))
  const deletions = 'Deletions that a further service has not done for a day'
  gauge('gatehouse_upstream_deletions_overdue', deletions, () => countOverdueDeletions({ orm, clock }))
  const waiting = 'Registrations that wait for an admin'
  const undecided = { username: { $ne: null }, deniedAt: null }
  gauge('gatehouse_registrations_waiting', waiting, () => orm.em.fork().count(Registration, undecided))
  const free = 'Free bytes where uploads are received'
  gauge('gatehouse_upload_disk_free_bytes', free, () => freeDiskBytes(config.uploadDir))
}
