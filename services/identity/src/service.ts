import { mkdir } from 'node:fs/promises'
import { createStateAnnouncer, createTokenKey } from '@gatehouse/auth'
import { durableEvents } from '@gatehouse/contracts'
import { createOutbound } from '@gatehouse/outbound'
import { startOutboxRelay } from '@gatehouse/bus'
import { startHttp, type Ports, type RunningService } from '@gatehouse/service-kit'
import { answerFederation } from './answers/federation.ts'
import type { IdentityConfig } from './config.ts'
import type { Deps } from './deps.ts'
import { startPasswordHasher } from './hashing/password-hasher.ts'
import { accountStateRoutes } from './routes/account-states.ts'
import { adminRoutes } from './routes/admin.ts'
import { authRoutes } from './routes/auth.ts'
import { instanceRoutes } from './routes/instance.ts'
import { passwordRoutes } from './routes/passwords.ts'
import { settingsRoutes } from './routes/settings.ts'
import { uploadRoutes } from './routes/uploads.ts'
import { userRoutes } from './routes/users.ts'
import { createImageConverter } from './uploads/image-converter.ts'
import { partsFolder } from './uploads/parts-folder.ts'
import { startUploadSweep } from './uploads/sweep.ts'

export { readConfig, type IdentityConfig } from './config.ts'

/** Starts the identity service: accounts, credentials, profiles, deletion and administration. */
export async function startIdentity(
  config: IdentityConfig,
  ports: Ports,
  overrides: Partial<Deps> = {},
): Promise<RunningService & { deps: Deps }> {
  await using opening = new AsyncDisposableStack()
  await mkdir(partsFolder(config.uploadDir), { recursive: true })
  const deps: Deps = {
    ...ports,
    config,
    hasher: overrides.hasher ?? opening.use(startPasswordHasher({ ...config.hashing, ...ports })),
    announcer: createStateAnnouncer(ports),
    relay: opening.use(startOutboxRelay({ ...ports, events: durableEvents })),
    outbound: opening.use(createOutbound(config.reach)),
    tokenKey: createTokenKey(config.jwtSecret),
    images: createImageConverter(),
    uploadSweep: opening.use(startUploadSweep({ ...ports, config })),
    ...overrides,
  }
  ports.metrics.gauge('gatehouse_outbox_age_seconds', 'Age of the oldest saved fact that waits to be published', () =>
    deps.relay.age().then(
      (ageMs) => ageMs / 1_000,
      () => Number.NaN, // the database is away: nobody knows
    ),
  )
  opening.use(await answerFederation(deps))
  const routers = [
    accountStateRoutes(deps),
    authRoutes(deps),
    instanceRoutes(deps),
    passwordRoutes(deps),
    userRoutes(deps),
    uploadRoutes(deps),
    adminRoutes(deps),
    settingsRoutes(deps),
  ]
  const readiness = { hashing: () => deps.hasher.ready() }
  const http = opening.use(
    await startHttp({ ...config, name: 'identity', portVariable: 'IDENTITY_PORT', routers, readiness }, ports),
  )
  const open = opening.move()
  return { ...http, deps, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
