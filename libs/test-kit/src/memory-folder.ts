import { statfsSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { watchFolder } from '@gatehouse/local-servers'

const sharedMemory = '/dev/shm'
const gibibyte = 1024 ** 3
/** The databases of a run take some hundred megabytes. */
const neededRoom = 2 * gibibyte
const neededMemory = 4 * gibibyte

/**
 * A folder in memory for what a run of the tests throws away, where the machine has one and the room; it ends with its
 * owner, or with this process. A copy of the test database, some 300 files, takes a tenth of the time there.
 */
export async function openMemoryFolder(): Promise<(AsyncDisposable & { path: string }) | undefined> {
  if (!hasRoom()) return undefined
  const path = await mkdtemp(join(sharedMemory, 'gatehouse-'))
  watchFolder(path)
  await chmod(path, 0o711) // PostgreSQL, which does not run as root, has to enter it
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) }
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(sharedMemory)
    return bavail * bsize >= neededRoom && process.availableMemory() >= neededMemory
  } catch {
    return false
  }
}
