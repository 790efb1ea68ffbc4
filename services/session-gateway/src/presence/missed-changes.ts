import type { Subscription } from '@gatehouse/bus'
import { presenceChanged, presenceMissed } from '@gatehouse/contracts'
import type { Deps, OperationContext } from '../deps.ts'

type MissedDeps = Pick<OperationContext, 'random'> & Pick<Deps, 'bus' | 'broadcaster' | 'presenceDelivery'>

/**
 * Whenever the connection to the bus is there again, has the other nodes repeat what they have published, to this node
 * alone, and repeats what this one had sent in the end: broadcasts of the time between are lost, and clients would show
 * friends as they were. Contract: 6, presence_update.
 */
export async function recoverMissedChanges(deps: MissedDeps): Promise<AsyncDisposable> {
  const { bus, broadcaster, presenceDelivery } = deps
  const askedBy = deps.random.uuid()
  await using opening = new AsyncDisposableStack()
  const use = async (subscribing: Promise<Subscription>) => void opening.use(await subscribing)
  await use(
    bus.onBroadcast(presenceChanged, async ({ payload }) => presenceDelivery.takeTold(payload), { as: askedBy }),
  )
  await use(
    bus.onBroadcast(presenceMissed, async ({ payload }) => {
      if (payload.askedBy !== askedBy) await broadcaster.repeat(payload.askedBy)
    }),
  )
  opening.use(
    bus.onReconnect(() => {
      broadcaster.repeatUnconfirmed()
      bus.broadcast(presenceMissed, { askedBy })
    }),
  )
  return opening.move()
}
