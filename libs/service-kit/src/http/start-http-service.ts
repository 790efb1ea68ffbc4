import { createCallerKey } from '@gatehouse/auth'
import type Router from '@koa/router'
import { resourceReadiness, type Readiness } from '../health/health.ts'
import type { Context, Resources } from '../resources/open-resources.ts'
import { listen, type Lifecycle, type ListenOptions, type Listening } from './listen.ts'
import type { AppState } from './request-state.ts'
import { createServiceApp } from './service-app.ts'

export type RunningService = Listening

type ServiceOptions = Pick<ListenOptions, 'host' | 'port' | 'portVariable' | 'drainMs'> & {
  name: string
  internalSecret: string
  routers: readonly Router<AppState>[]
  /** Beside the resources that the service has opened. */
  readiness?: Readiness
}

/** Serves a service's routers behind what all services have in common. Closing it drains. */
export async function startHttpService(
  service: ServiceOptions,
  resources: Context & Partial<Resources>,
): Promise<RunningService> {
  const lifecycle: Lifecycle = { draining: false }
  const app = createServiceApp({
    ...resources,
    service: service.name,
    callerKey: createCallerKey(service.internalSecret),
    readiness: { ...resourceReadiness(resources), ...service.readiness },
    draining: () => lifecycle.draining,
  })
  for (const router of service.routers) app.use(router.routes()).use(router.allowedMethods())
  return await listen(app.callback(), { ...service, lifecycle })
}
