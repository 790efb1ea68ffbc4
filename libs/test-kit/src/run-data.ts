import { existsSync } from 'node:fs'
import { chmod, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { prepareDatabase } from '@gatehouse/database'
import { createScratchFolder, startPersistentPostgres } from '@gatehouse/local-servers'
import { oneOfRun } from './test-database.ts'

/** Of the owner of the schema in `runData`. */
export const runDataPassword = 'the password of the data that tests copy'

let prepared: Promise<string> | undefined

/**
 * The folder of a stopped PostgreSQL with the whole schema and the roles of the services, and no account, for
 * `copyPostgresData` and `startEphemeralPostgres`. It is made once a run: the first caller makes it, the others wait.
 */
export function runData(): Promise<string> {
  return (prepared ??= prepareData())
}

/** A scratch folder that PostgreSQL, which does not run as root, may enter: for data folders. `removeFolder` removes it. */
export async function createDataFolder(): Promise<string> {
  const folder = await createScratchFolder('data')
  await chmod(folder, 0o711)
  return folder
}

async function prepareData(): Promise<string> {
  const ofRun = process.env.GATEHOUSE_TEST_DATA
  if (!ofRun) return await makeData(await createDataFolder())
  return await oneOfRun(ofRun, () => makeData(ofRun))
}

/** The rename leaves no incomplete data after an interrupted start. */
async function makeData(parent: string): Promise<string> {
  const [folder, unfinished] = [join(parent, 'database'), join(parent, 'unfinished')]
  if (existsSync(folder)) return folder
  await rm(unfinished, { recursive: true, force: true })
  const options = { folder: unfinished, password: runDataPassword, settings: { fsync: 'off' } }
  {
    await using server = await startPersistentPostgres(options)
    await prepareDatabase(server.url)
  }
  await rename(unfinished, folder)
  return folder
}
