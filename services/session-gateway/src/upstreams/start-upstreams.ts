import { BusUnavailable } from '@gatehouse/bus'
import type { Upstream } from '@gatehouse/contracts'
import { startPeriodicTask } from '@gatehouse/runtime'
import { ConfigurationError, watchUpstreams } from '@gatehouse/service-kit'
import type { OperationContext } from '../context.ts'
import { MessageForwarder } from './message-forwarder.ts'
import { OccasionalLog } from './occasional-log.ts'
import { ReadyParts } from './ready-parts.ts'
import { UpstreamConnections, type ConnectionDeps } from './upstream-connections.ts'
import { UpstreamSet } from './upstream-set.ts'

const noNats = 'NATS_URL: is needed: upstreams of GATEHOUSE_UPSTREAMS have messages, ready or events'

const withoutNats = {
  prefix: '',
  request: async () => {
    throw new BusUnavailable('disconnected')
  },
}

export function createUpstreams(
  context: Pick<OperationContext, 'bus' | 'log' | 'random' | 'timer' | 'timings' | 'sessionMetrics'>,
) {
  const plain = context.bus.plain ?? withoutNats
  const upstreams = new UpstreamSet(plain.prefix)
  const occasionalLog = new OccasionalLog(context)
  const deps = { ...context, plain, upstreams, occasionalLog }
  return { upstreams, occasionalLog, forwarder: new MessageForwarder(deps), readyParts: new ReadyParts(deps) }
}

/** Reads the file again on SIGHUP. Throws ConfigurationError. Contract: 8, GATEHOUSE_UPSTREAMS. */
export async function startUpstreams(
  deps: ConnectionDeps & Pick<OperationContext, 'bus'>,
  file: string | undefined,
): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  if (file === undefined) return opening.move()
  const { log, timer, timings, upstreams } = deps
  const watch = opening.use(await watchUpstreams(file, { log }))
  const { plain } = deps.bus
  if (!plain) {
    if (watch.current.some(needsNats)) throw new ConfigurationError([noNats])
    opening.defer(watch.onChange((current) => (current.some(needsNats) ? log.error(noNats) : undefined)))
    return opening.move()
  }
  upstreams.replace(watch.current)
  const connections = opening.use(new UpstreamConnections(deps, plain))
  // NATS may be away when the file changes.
  const task = { name: 'upstream connections', everyMs: timings.upstreamRetryMs, log, timer }
  const reconciling = opening.use(startPeriodicTask(task, () => connections.reconcile()))
  await reconciling.runNow()
  opening.defer(
    watch.onChange((current) => {
      upstreams.replace(current)
      void reconciling.runNow()
    }),
  )
  return opening.move()
}

function needsNats({ messages, ready, events }: Upstream): boolean {
  return messages.length + ready.length + events.length > 0
}
