import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { watchFolder } from './watchdog.ts'

const projectRoot = resolve(import.meta.dirname, '../../..')

/** A new, empty folder in the project's data folder. It is removed when this process has ended. */
export async function createScratchFolder(name: string): Promise<string> {
  const parent = join(resolve(projectRoot, process.env.GATEHOUSE_DATA ?? '.gatehouse'), 'scratch')
  await mkdir(parent, { recursive: true })
  const folder = await mkdtemp(join(parent, `${name}-`))
  watchFolder(folder)
  return folder
}

export function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
