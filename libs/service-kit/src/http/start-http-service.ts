import { createCallerKey } from '@gatehouse/auth'
import type Router from '@koa/router'
import { resourceReadiness, type Check } from '../health/health.ts'
import type { Context, Resources } from '../resources/open-resources.ts'
import { listen, type Lifecycle, type ListenOptions, type Listening } from './listen.ts'
import type { AppState } from './request-state.ts'
import { createServiceApp } from './service-app.ts'

export type RunningService = Listening

type ServiceOptions = Pick<
  ListenOptions,
  'host' | 'port' | 'portVariable' | 'drainMs' | 'upgrades' | 'announceDrain'
> & {
  name: string
  internalSecret: string
  previousInternalSecrets?: readonly string[]
  routers: readonly Router<AppState>[]
  readiness?: Record<string, Check>
}

export async function startHttpService(
  service: ServiceOptions,
  resources: Context & Partial<Resources>,
): Promise<RunningService> {
  const lifecycle: Lifecycle = { draining: false }
  const { required, optional = {} } = resourceReadiness(resources)
  const app = createServiceApp({
    ...resources,
    service: service.name,
    callerKey: createCallerKey(service.internalSecret, service.previousInternalSecrets),
    readiness: { required: { ...required, ...service.readiness }, optional },
    draining: () => lifecycle.draining,
  })
  for (const router of service.routers) app.use(router.routes()).use(router.allowedMethods())
  return await listen(app.callback(), { announceDrain: true, ...service, lifecycle })
}
