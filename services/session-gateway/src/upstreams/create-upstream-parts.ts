import { BusUnavailable } from '@gatehouse/bus'
import type { Deps, OperationContext } from '../deps.ts'
import { MessageForwarder } from './message-forwarder.ts'
import { OccasionalLog } from './occasional-log.ts'
import { ReadyParts } from './ready-parts.ts'
import { UpstreamSet } from './upstream-set.ts'

/** Without NATS no upstream takes part in sockets, and nothing is requested. */
const withoutNats = {
  prefix: '',
  request: async () => {
    throw new BusUnavailable('disconnected')
  },
}

/** What sockets and handshakes use of upstreams: none yet. */
export function createUpstreamParts(
  context: OperationContext & Pick<Deps, 'bus' | 'sessionMetrics'>,
): Pick<Deps, 'upstreams' | 'forwarder' | 'readyParts' | 'occasionalLog'> {
  const plain = context.bus.plain ?? withoutNats
  const upstreams = new UpstreamSet(plain.prefix)
  const occasionalLog = new OccasionalLog(context)
  const deps = { ...context, plain, upstreams, occasionalLog }
  return { upstreams, occasionalLog, forwarder: new MessageForwarder(deps), readyParts: new ReadyParts(deps) }
}
