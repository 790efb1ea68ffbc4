import type Router from '@koa/router'
import type { Server } from 'node:http'
import { listen } from '../listen.ts'
import { type Readiness } from '../operations-endpoints.ts'
import { createServiceApp } from '../service-app.ts'
import { createCallerKey } from '@gatehouse/auth'
import type { Ports } from './open-ports.ts'

export type RunningService = AsyncDisposable & { url: string; port: number; server: Server }

type Service = {
  name: string
  host: string
  port: number
  portVariable: string
  /** How long requests under way may take to end when it closes, in milliseconds. */
  drainMs?: number
  internalSecret: string
  routers: readonly Router[]
  /** Beside the database, the bus and the cache. */
  readiness?: Readiness
}

/** Serves a service's routers behind everything that all services do alike. Closing it drains. */
export async function startHttp(service: Service, ports: Ports): Promise<RunningService> {
  let draining = () => false
  const app = createServiceApp({
    ...ports,
    service: service.name,
    callerKey: createCallerKey(service.internalSecret),
    readiness: { ...portReadiness(ports), ...service.readiness },
    draining: () => draining(),
  })
  for (const router of service.routers) app.use(router.routes()).use(router.allowedMethods())
  const listening = await listen(app.callback(), service)
  draining = listening.draining
  return listening
}

/** Whether what the service stands on answers right now. */
export function portReadiness({ orm, bus, store }: Ports): Readiness {
  return {
    postgres: async () => {
      await orm.em.fork().execute('select 1')
      return true
    },
    nats: () => bus.ready(),
    redis: () => store.ready(),
  }
}
