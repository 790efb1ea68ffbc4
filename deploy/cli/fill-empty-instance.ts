import { createClient } from '@gatehouse/database'
import type pg from 'pg'
import { CommandFailure, isServerLost, storageFailure } from './failure.ts'
import { openUploadStaging, type UploadPlace } from './upload-staging.ts'

type Filling<T> = UploadPlace & {
  kind: 'import' | 'restore'
  /** Of the owner of the schema, which is up to date. */
  databaseUrl: string
  isDryRun?: boolean
  progress(line: string): void
  /** Before any file is written. */
  check?: (client: pg.Client) => Promise<void>
  /** The files in the folder become uploads. */
  fill: (client: pg.Client, folder: string) => Promise<T>
}

/** In one transaction. Files get their names right before its commit. Throws CommandFailure; only a lost commit may have changed anything. */
export async function fillEmptyInstance<T>(filling: Filling<T>): Promise<T> {
  const { kind, databaseUrl, isDryRun = false, progress, check, fill } = filling
  const client = await createClient(databaseUrl, `gatehouse-${kind}`)
  await using opening = new AsyncDisposableStack()
  opening.defer(() => client.end()) // rolls back what is open
  let staging: Awaited<ReturnType<typeof openUploadStaging>> | undefined
  let isCommitting = false
  try {
    await client.connect()
    await client.query(`begin; set local statement_timeout = 0; set local lock_timeout = '5s'`)
    await client.query('set local idle_in_transaction_session_timeout = 0')
    await requireEmptyInstance(client)
    await check?.(client)
    staging = opening.use(await openUploadStaging(client, filling, kind))
    const result = await fill(client, staging.folder)
    if (!isDryRun) await staging.publish()
    isCommitting = !isDryRun
    await client.query(isDryRun ? 'rollback' : 'commit')
    progress(isDryRun ? 'dry run: nothing was changed' : 'committed')
    return result
  } catch (error) {
    const isUnknown = isCommitting && isServerLost(error) // its rows would need the files
    const withdrawalFault = isUnknown ? undefined : await staging?.withdraw().catch((cause: unknown) => cause as Error)
    if (withdrawalFault) progress(`files of this run are left in the store of uploads: ${withdrawalFault.message}`)
    throw explain(kind, error, isUnknown)
  }
}

/** Two histories would mix, and a running service would go on with what it knew. Throws CommandFailure. */
async function requireEmptyInstance(client: pg.ClientBase): Promise<void> {
  await client.query('lock table users, instance_settings, session_nodes in share row exclusive mode')
  const { rows } = await client.query<{ users: boolean; nodes: boolean }>(
    `select exists (select from users) as users,
       exists (select from session_nodes where seen_at > now() - interval '15 seconds') as nodes`,
  )
  if (rows[0]?.users) throw new CommandFailure('refused', 'this instance already has accounts: use a new instance')
  if (rows[0]?.nodes) throw new CommandFailure('refused', 'this instance is still running: stop it and wait 15 s')
}

function explain(kind: string, error: unknown, isUnknown: boolean): CommandFailure {
  const outcome = isUnknown ? 'it may have been committed; if so, a second run is rejected' : 'nothing was changed'
  const failure = storageFailure(error, outcome)
  if (failure) return failure
  const { code, message } = error as { code?: string; message: string }
  if (code === '55P03') return new CommandFailure('refused', `the instance is in use: stop it; ${outcome}`, error)
  return new CommandFailure('failed', `the ${kind} failed: ${message}; ${outcome}`, error)
}
