import type { Bus } from '@gatehouse/bus'
import { takesWrites } from '@gatehouse/database'
import { refuse, withTimeout } from '@gatehouse/runtime'
import type { Middleware } from 'koa'
import { sendRefusal } from '../http/request-state.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Resources } from '../resources/open-resources.ts'

export type Check = () => boolean | Promise<boolean>

/** `optional`: dependencies with a fallback. */
export type Readiness = { required: Record<string, Check>; optional?: Record<string, Check> }

const paths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])
const checkMs = 2_000

/** Serves `/healthz`, `/readyz` (optional dependencies do not count) and `/metrics`. Contract: 8, ports, readiness. */
export function healthEndpoints(deps: { readiness: Readiness; metrics: Metrics; draining(): boolean }): Middleware {
  const { required, optional = {} } = deps.readiness
  const all = { ...required, ...optional }
  for (const [dependency, check] of Object.entries(all)) {
    const read = async () => Number((await findFault(check)) === null)
    deps.metrics.labeledGauge('gatehouse_dependency_up', 'Whether a dependency answers', { dependency }, read)
  }
  return async (ctx, next) => {
    if (!paths.has(ctx.path)) {
      await next()
    } else if (!['GET', 'HEAD'].includes(ctx.method)) {
      sendRefusal(ctx, refuse.method_not_allowed({ headers: { Allow: 'GET, HEAD' } }))
    } else if (ctx.path === '/healthz') {
      ctx.body = { status: 'ok' }
    } else if (ctx.path === '/readyz') {
      const isVerbose = ctx.query['verbose'] !== undefined
      const faults = await findFaults(isVerbose ? all : required)
      const ready = !deps.draining() && Object.keys(required).every((name) => faults[name] === null)
      ctx.status = ready ? 200 : 503
      ctx.body = { ready, draining: deps.draining(), ...(isVerbose && describe(faults)) }
    } else {
      const { contentType, text } = await deps.metrics.render()
      ctx.set('Content-Type', contentType)
      ctx.body = text
    }
  }
}

/** True, or throws what the streams of a NATS cluster lack. Contract: 8, NATS of three nodes. */
export async function checkStreams(bus: Bus): Promise<true> {
  const faults = await bus.listStreamFaults()
  if (faults.length > 0) throw new Error(faults.join('; '))
  return true
}

export function resourceReadiness({ orm, bus, accountStateCache }: Partial<Resources>): Readiness {
  return {
    required: orm ? { postgres: async () => Boolean(await orm.em.fork().execute('select 1')) } : {},
    optional: {
      ...(orm && { postgres_writes: () => takesWrites(orm.em.fork()) }),
      ...(bus && {
        nats: () => bus.ready(),
        nats_streams: () => checkStreams(bus),
      }),
      ...(accountStateCache && { redis: () => accountStateCache.ready() }),
    },
  }
}

/** Null: it works. */
type Fault = string | null

/** `faults` says why a dependency does not work, where there is more to say than that. */
function describe(faults: Record<string, Fault>) {
  const entries = Object.entries(faults)
  const dependencies = Object.fromEntries(entries.map(([name, fault]) => [name, fault === null]))
  return { dependencies, faults: Object.fromEntries(entries.filter(([, fault]) => fault)) }
}

async function findFaults(checks: Record<string, Check>): Promise<Record<string, Fault>> {
  const results = Object.entries(checks).map(async ([name, check]) => [name, await findFault(check)] as const)
  return Object.fromEntries(await Promise.all(results))
}

/** Empty where the check only says no. */
async function findFault(check: Check): Promise<Fault> {
  try {
    return (await withTimeout(check, checkMs, () => new Error('no answer in time'))) ? null : ''
  } catch (error) {
    return explain(error)
  }
}

/** With its causes, as the log has it. */
export function explain(error: unknown): string {
  const messages: string[] = []
  for (let each = error; each instanceof Error; each = each.cause) messages.push(each.message)
  return messages.filter((message, index) => !messages[index - 1]?.endsWith(message)).join(': ')
}
