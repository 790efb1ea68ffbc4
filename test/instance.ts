import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asOwner, capturedLog, openMigratedDatabase } from '@gatehouse/test-kit'
import { readConfig } from '../deploy/embedded/config.ts'
import { startEmbedded } from '../deploy/embedded/embedded.ts'
import { quickHashing } from '../deploy/test-programs/quick-hashing.ts'

/** A whole embedded instance on a free port, with a database and a data folder of its own; `deps` as the database's owner. */
export async function startInstance(environment: Record<string, string> = {}) {
  await using opening = new AsyncDisposableStack()
  const dataFolder = await mkdtemp(join(tmpdir(), 'gatehouse-test-'))
  opening.defer(() => rm(dataFolder, { recursive: true, force: true }))
  const database = opening.use(await openMigratedDatabase({ connections: 4 }))
  const { log, lines } = capturedLog()
  const config = quickHashing(readConfig({ PORT: '0', GATEHOUSE_DATA: dataFolder, ...environment }))
  const instance = opening.use(await startEmbedded(config, database.url, { log }))
  const open = opening.move()
  return {
    ...instance,
    deps: asOwner(instance.deps, database.orm),
    log: lines,
    databaseUrl: database.url,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
