import { transaction } from '@gatehouse/database'
import { Application } from '@gatehouse/domain'
import { createBackgroundTasks, startPeriodicTask, type PeriodicTask } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { endGrantsOfAccount } from '../grants/end-grants.ts'
import { policy } from '../policy.ts'
import { noticePolicy } from './policy.ts'
import { listReceivers } from './receiver-states.ts'
import { removeExpired, tellReceivers } from './tell-receivers.ts'
import { factsOf, toldEvents } from './told-events.ts'
import { tellAllowed } from './write-notices.ts'

export { signalRoutes } from './signal-routes.ts'

export type Notices = AsyncDisposable & {
  /** Call it after the commit that wrote a notice. */
  notify(): void
  /** Sends what is due, until nothing is under way. */
  runDue(): Promise<void>
}

/** Tells applications what has ended. Contract: 3, Applications. */
export async function startNotices(deps: Omit<Deps, 'notices'>): Promise<Notices> {
  await using opening = new AsyncDisposableStack()
  const { metrics, log, timer } = deps
  const background = opening.use(createBackgroundTasks(log))
  const help = 'Notices to applications by outcome'
  const outcomes = metrics.counter('gatehouse_application_notices_total', help, ['channel', 'outcome'])
  observeReceivers(deps)
  const telling = { ...deps, background, outcomes }
  const every = { everyMs: noticePolicy.intervalMs, log, timer }
  const sender = opening.use(startPeriodicTask({ name: 'notices', ...every }, () => tellReceivers(telling)))
  const expiry = { name: 'expired notices', everyMs: policy.sweepIntervalMs, log, timer }
  opening.use(startPeriodicTask(expiry, () => removeExpired(deps)))
  opening.use(await consumeEvents(deps, sender))
  const open = opening.move()
  return {
    notify: () => void sender.runNow(),
    runDue: async () => {
      await sender.runNow()
      await background.idle()
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

async function consumeEvents({ bus, orm }: Pick<Deps, 'bus' | 'orm'>, sender: PeriodicTask) {
  const options = { group: 'openid' }
  return await bus.subscribe(
    toldEvents,
    async (event) => {
      const { userId } = event.payload
      const written = await transaction(orm, async (em) => {
        const count = await tellAllowed(em, userId, { eventId: event.id, facts: factsOf(event) })
        // The deletion leaves the consents for this.
        if (event.name === 'UserDeleted') await endGrantsOfAccount(em, userId)
        return count
      })
      if (written > 0) void sender.runNow()
    },
    options,
  )
}

function observeReceivers({ metrics, orm, clock }: Pick<Deps, 'metrics' | 'orm' | 'clock'>): void {
  const help = 'How long the oldest notice of a receiver has waited'
  const labels = ['application', 'channel']
  metrics.rowsGauge('gatehouse_application_notice_age_seconds', help, labels, async () => {
    const em = orm.em.fork()
    const [rows, names] = [await listReceivers(em), await namesOf(em)]
    return rows.map(({ applicationId, channel, oldestAt }) => {
      const application = `${names.get(applicationId) ?? ''} (${applicationId})`
      return { labels: { application, channel }, value: oldestAt === null ? 0 : (clock.now() - oldestAt) / 1000 }
    })
  })
}

async function namesOf(em: EntityManager): Promise<Map<string, string>> {
  const rows = await em.findAll(Application, { fields: ['id', 'name'] })
  return new Map(rows.map(({ id, name }) => [id, name]))
}
