import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { isReachable } from './closed-folders.ts'
import { watchFolder } from './watchdog.ts'

/** In GATEHOUSE_TEST_SCRATCH, the project's data folder, or the system's. Removed when this process ends. */
export async function createScratchFolder(name: string): Promise<string> {
  const dataFolder = resolve(process.env.GATEHOUSE_DATA ?? '.gatehouse')
  const parent = process.env.GATEHOUSE_TEST_SCRATCH || join(dataFolder, 'scratch')
  await mkdir(parent, { recursive: true })
  const prefix = join(parent, `${name}-`)
  const folder = await mkdtemp(isReachable(prefix) ? prefix : join(tmpdir(), `gatehouse-${name}-`))
  watchFolder(folder)
  return folder
}

export function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
