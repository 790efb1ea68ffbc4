import { createEncryptionKey } from '@gatehouse/auth'
import { createKeyring } from '@gatehouse/openid-keys'
import { createOutbound } from '@gatehouse/outbound'
import { systemTimer } from '@gatehouse/runtime'
import { startHttpService, type RunningService } from '@gatehouse/service-kit'
import { applicationRoutes } from './applications/routes.ts'
import type { OpenidConfig } from './config.ts'
import type { Deps, OpenidResources } from './deps.ts'
import { createSubjects } from './keys/subjects.ts'
import { signalRoutes, startNotices, type Notices } from './notices/notices.ts'
import { policy } from './policy.ts'
import { createProviders } from './provider/providers.ts'
import { interactionRoutes } from './routes/interactions.ts'
import { createGate, openidRoutes } from './routes/protocol.ts'
import { startSweep } from './sweep.ts'

export { readConfig, type OpenidConfig } from './config.ts'

export async function startOpenid(
  config: OpenidConfig,
  resources: OpenidResources,
  overrides: Partial<Deps> = {},
): Promise<RunningService & { deps: Deps & { notices: Notices } }> {
  await using opening = new AsyncDisposableStack()
  const encryptionKey = createEncryptionKey(config.encryptionSecret, config.previousEncryptionSecrets)
  const outbound = overrides.outbound ?? opening.use(createOutbound(config.reach))
  const keyring = createKeyring({ ...resources, config, encryptionKey }, policy.refreshMs)
  const subjects = createSubjects({ ...resources, encryptionKey })
  const providers = createProviders({ ...resources, config, subjects, keyring: overrides.keyring ?? keyring })
  const requireEnabled = createGate(resources, policy.refreshMs)
  const own = { timer: systemTimer, config, encryptionKey, outbound, keyring, subjects, providers, requireEnabled }
  const basis = { ...resources, ...own, ...overrides }
  opening.use(startSweep(basis))
  const notices = opening.use(await startNotices(basis))
  const deps = { ...basis, notices }
  const routers = [openidRoutes(deps), interactionRoutes(deps), applicationRoutes(deps), signalRoutes(deps)]
  const service = { ...config, name: 'openid', portVariable: 'OPENID_PORT', routers }
  const http = opening.use(await startHttpService(service, resources))
  const open = opening.move()
  return { ...http, deps, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
