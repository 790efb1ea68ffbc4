import { refuse } from '@gatehouse/runtime'
import Koa from 'koa'
import { openResources, type Opened, type ResourceOptions } from './resources/open-resources.ts'
import { runUntilStopped } from './run-until-stopped.ts'
import { listen, type Listening } from './http/listen.ts'
import { sendRefusal } from './http/request-state.ts'
import { createMetrics } from './metrics/metrics.ts'
import { waitingDrainMs } from './policy.ts'
import { healthEndpoints } from './health/health.ts'

export type Program<C, O extends ResourceOptions> = {
  name: string
  readConfig(environment: NodeJS.ProcessEnv): { config: C; resources: O }
  start(config: C, resources: Opened<O>): Promise<AsyncDisposable & { url: string }>
}

type Ports = { host: string; port: number }

/** Runs a service as its process: until SIGTERM or SIGINT, exit code 1 where it cannot start. Contract: 8, start. */
export async function runService<C extends Ports, O extends ResourceOptions>(program: Program<C, O>): Promise<void> {
  await runUntilStopped(program.name, (stopRequested) => startService(program, process.env, stopRequested))
}

/** Waits for PostgreSQL, alive and not ready. Throws ConfigurationError, and Unavailable on pending migrations. Contract: 8, start. */
export async function startService<C extends Ports, O extends ResourceOptions>(
  program: Program<C, O>,
  environment: NodeJS.ProcessEnv,
  stopRequested: AbortSignal,
): Promise<AsyncDisposable> {
  const { config, resources: options } = program.readConfig(environment)
  await using opening = new AsyncDisposableStack()
  const whileWaiting = () => serveHealthWhileWaiting(config)
  const resources = opening.use(await openResources(program.name, options, { stopRequested, whileWaiting }))
  const service = opening.use(await program.start(config, resources))
  resources.log.info({ url: service.url }, 'listening')
  opening.defer(() => resources.log.info('stopping: what was accepted is answered; a second signal ends at once'))
  return opening.move()
}

/** A supervisor sees a live process that is not ready. Contract: 8, readiness. */
async function serveHealthWhileWaiting({ host, port }: { host: string; port: number }): Promise<Listening> {
  const app = new Koa()
  const readiness = { required: { postgres: () => false } }
  app.use(healthEndpoints({ readiness, metrics: createMetrics(), draining: () => false }))
  app.use((ctx) => sendRefusal(ctx, refuse.unavailable({ headers: { 'Retry-After': '1' } })))
  return await listen(app.callback(), { host, port, drainMs: waitingDrainMs })
}
