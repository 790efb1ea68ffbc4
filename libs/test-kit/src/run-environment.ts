import { randomBytes } from 'node:crypto'
import { removeFolder, startNats, startEphemeralPostgres, startRedis } from '@gatehouse/local-servers'
import { openMemoryFolder } from './memory-folder.ts'
import { createDataFolder } from './run-data.ts'
import { testPostgresSettings } from './run-servers.ts'
import { dropTemplates } from './test-database.ts'

/**
 * Starts the servers that all test files of a run share, but for those the environment names. `variables` tells the files'
 * processes where they are. Dispose ends them and leaves nothing behind.
 */
export async function startRunEnvironment(): Promise<AsyncDisposable & { variables: Record<string, string> }> {
  await using opening = new AsyncDisposableStack()
  const runId = randomBytes(4).toString('hex')
  const variables: Record<string, string> = { GATEHOUSE_TEST_RUN: runId }
  const scratch = process.env.GATEHOUSE_TEST_SCRATCH ? undefined : await openMemoryFolder()
  if (scratch) {
    opening.use(scratch)
    // For the servers of this process too.
    process.env.GATEHOUSE_TEST_SCRATCH = variables.GATEHOUSE_TEST_SCRATCH = scratch.path
    opening.defer(() => void delete process.env.GATEHOUSE_TEST_SCRATCH)
  }
  variables.GATEHOUSE_TEST_DATA =
    process.env.GATEHOUSE_TEST_DATA || opening.adopt(await createDataFolder(), removeFolder)
  const starts = {
    GATEHOUSE_TEST_POSTGRES_URL: () => startEphemeralPostgres({ settings: testPostgresSettings }),
    GATEHOUSE_TEST_NATS_URL: () => startNats(),
    GATEHOUSE_TEST_REDIS_URL: () => startRedis(),
  }
  await Promise.all(
    Object.entries(starts).map(async ([name, start]) => {
      const url = process.env[name]
      variables[name] = url || opening.use(await start()).url
    }),
  )
  const givenPostgres = process.env.GATEHOUSE_TEST_POSTGRES_URL
  if (givenPostgres) opening.defer(() => dropTemplates(givenPostgres, runId))
  const open = opening.move()
  return { variables, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
