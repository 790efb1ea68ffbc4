import type { Bus, Subscription } from '@gatehouse/bus'
import { presenceChanged, presenceMissed } from '@gatehouse/contracts'
import type { OperationContext } from '../context.ts'
import type { PresenceBroadcaster } from './presence-broadcaster.ts'
import type { PresenceDelivery } from './presence-delivery.ts'

type MissedDeps = Pick<OperationContext, 'random'> & {
  bus: Pick<Bus, 'publish' | 'subscribe' | 'onReconnect'>
  broadcaster: Pick<PresenceBroadcaster, 'repeat' | 'repeatUnconfirmed'>
  presenceDelivery: Pick<PresenceDelivery, 'takeTold'>
}

/** Broadcasts without a connection are lost, so nodes repeat theirs. Contract: 6, presence_update. */
export async function recoverMissedChanges(deps: MissedDeps): Promise<AsyncDisposable> {
  const { bus, broadcaster, presenceDelivery } = deps
  const askedBy = deps.random.uuid()
  await using opening = new AsyncDisposableStack()
  const use = async (subscribing: Promise<Subscription>) => void opening.use(await subscribing)
  await use(bus.subscribe(presenceChanged, async ({ payload }) => presenceDelivery.takeTold(payload), { as: askedBy }))
  await use(
    bus.subscribe(presenceMissed, async ({ payload }) => {
      if (payload.askedBy !== askedBy) await broadcaster.repeat(payload.askedBy)
    }),
  )
  opening.use(
    bus.onReconnect(() => {
      broadcaster.repeatUnconfirmed()
      void bus.publish(presenceMissed, { askedBy })
    }),
  )
  return opening.move()
}
