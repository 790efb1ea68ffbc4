import { remotePresenceReported } from '@gatehouse/contracts'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import type { PresenceStore } from './presence-store.ts'
import type { RemotePresences } from './remote-presences.ts'
import { sendChanges, type SendDeps } from './send-changes.ts'

type AnnouncerDeps = Pick<OperationContext, 'timer' | 'timings' | 'log' | 'clock'> &
  SendDeps & {
    presenceStore: Pick<PresenceStore, 'readAudience' | 'findConnected'>
    remotePresences: RemotePresences
    node: { readonly id: string }
  }

/** Every node gets every report and tells its own users. Contract: 6. */
export class RemotePresenceAnnouncer implements AsyncDisposable {
  readonly #deps: AnnouncerDeps
  #changed = new Set<string>()
  #scheduled: unknown
  #stopped = false
  #running: Promise<void> = Promise.resolve()

  constructor(deps: AnnouncerDeps) {
    this.#deps = deps
  }

  take(report: { userId: string; status: 'online' | 'offline'; until: number }): void {
    if (this.#deps.remotePresences.report(report, this.#deps.clock.now())) this.#announce([report.userId])
  }

  expire(): void {
    this.#announce(this.#deps.remotePresences.expire(this.#deps.clock.now()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    this.#deps.timer.clear(this.#scheduled)
    await this.#running
  }

  #announce(userIds: readonly string[]): void {
    for (const userId of userIds) this.#changed.add(userId)
    if (this.#changed.size > 0) this.#schedule(this.#deps.timings.remotePresenceGatherMs)
  }

  #schedule(afterMs: number): void {
    if (this.#stopped) return
    this.#scheduled ??= this.#deps.timer.set(() => {
      this.#scheduled = undefined
      this.#running = this.#running.then(() => this.#tellAudience())
    }, afterMs)
  }

  async #tellAudience(): Promise<void> {
    const { presenceStore, remotePresences, node, log, timings } = this.#deps
    const userIds = [...this.#changed]
    this.#changed.clear()
    try {
      const [audience, connected] = await Promise.all([
        presenceStore.readAudience(userIds, { onNode: node.id }),
        presenceStore.findConnected(userIds),
      ])
      const takenAt = this.#deps.timer.now()
      // A socket here counts more than a report.
      const changes = userIds.flatMap((userId) => {
        if (connected.has(userId)) return []
        return { userId, status: remotePresences.isOnline(userId) ? 'online' : 'offline', takenAt } as const
      })
      sendChanges(this.#deps, changes, audience)
    } catch (err) {
      log.warn({ err, users: userIds.length }, 'reported presences not announced yet')
      // A client sees a dropped change in its next `ready`.
      this.#changed = new Set([...userIds, ...this.#changed].slice(-policy.remotePresences))
      this.#schedule(timings.databaseRetryMs)
    }
  }
}

export async function subscribeRemotePresences(
  { bus }: Pick<OperationContext, 'bus'>,
  announcer: RemotePresenceAnnouncer,
): Promise<AsyncDisposable> {
  return await bus.subscribe(remotePresenceReported, async ({ payload }) => announcer.take(payload))
}
