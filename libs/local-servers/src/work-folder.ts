import { mkdir, mkdtemp } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { watchFolder } from './watchdog.ts'

const projectRoot = resolve(import.meta.dirname, '../../..')

/** A new, empty folder below the ignored data folder of the project; it goes when this process ends. */
export async function createWorkFolder(name: string): Promise<string> {
  const parent = join(resolve(projectRoot, process.env.GATEHOUSE_DATA ?? '.gatehouse'), 'scratch')
  await mkdir(parent, { recursive: true })
  const folder = await mkdtemp(join(parent, `${name}-`))
  watchFolder(folder)
  return folder
}
