import { BusUnavailable } from '@gatehouse/bus'
import type { Deps, OperationContext } from '../deps.ts'
import { MessageForwarder } from './message-forwarder.ts'
import { OccasionalLog } from './occasional-log.ts'
import { ReadyParts } from './ready-parts.ts'
import { UpstreamSet } from './upstream-set.ts'

const withoutNats = {
  prefix: '',
  request: async () => {
    throw new BusUnavailable('disconnected')
  },
}

export function createUpstreamParts(
  context: OperationContext & Pick<Deps, 'bus' | 'sessionMetrics'>,
): Pick<Deps, 'upstreams' | 'forwarder' | 'readyParts' | 'occasionalLog'> {
  const plain = context.bus.plain ?? withoutNats
  const upstreams = new UpstreamSet(plain.prefix)
  const occasionalLog = new OccasionalLog(context)
  const deps = { ...context, plain, upstreams, occasionalLog }
  return { upstreams, occasionalLog, forwarder: new MessageForwarder(deps), readyParts: new ReadyParts(deps) }
}
