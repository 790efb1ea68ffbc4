import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseUnavailable, openDatabase, type DatabaseOptions } from '@gatehouse/database'
import type { MikroORM } from '@mikro-orm/postgresql'
import type { Log } from '../log/log.ts'
import { databaseRetryMs } from '../policy.ts'

export type Waiting = {
  stopRequested?: AbortSignal
  whileWaiting?: () => Promise<AsyncDisposable>
}

/** Throws DatabaseUnavailable on pending migrations. Contract: 8. */
export async function awaitDatabase(
  options: DatabaseOptions,
  log: Log,
  { stopRequested, whileWaiting }: Waiting,
): Promise<MikroORM> {
  await using meanwhile = new AsyncDisposableStack()
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openDatabase(options)
    } catch (error) {
      // A fault of the schema has no cause.
      if (!(error instanceof DatabaseUnavailable) || error.cause === undefined) throw error
      stopRequested?.throwIfAborted()
      if (attempt === 1) {
        log.warn({ reason: error.message }, 'waiting for PostgreSQL')
        if (whileWaiting) meanwhile.use(await whileWaiting())
      }
    }
    await pause(databaseRetryMs, undefined, { signal: stopRequested }).catch(() => stopRequested?.throwIfAborted())
  }
}
