import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomToken, systemRandom } from '@gatehouse/runtime'
import { ConfigurationError } from '@gatehouse/service-kit'
import { z } from 'zod'

const secrets = z.object({
  jwtSecret: z.string().min(32),
  internalSecret: z.string().min(32),
  databasePassword: z.string().min(32),
})
export type Secrets = z.infer<typeof secrets>

/** The secrets of this data folder: those kept there, or new ones that are kept from now on. Throws ConfigurationError. */
export function keepSecrets(dataFolder: string): Secrets {
  const file = join(dataFolder, 'secrets.json')
  try {
    mkdirSync(dataFolder, { recursive: true })
    const kept = readIfThere(file)
    return kept === undefined ? makeSecrets(file) : secrets.parse(JSON.parse(kept))
  } catch (cause) {
    const remedy = 'check that the folder is writable and the file is whole'
    throw new ConfigurationError([`GATEHOUSE_DATA: cannot keep secrets in ${file}; ${remedy}`], { cause })
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Written beside and linked, so that a crash leaves a whole file or none; of several starts at once the first decides. */
function makeSecrets(file: string): Secrets {
  const made = {
    jwtSecret: randomToken(systemRandom, 48),
    internalSecret: randomToken(systemRandom, 48),
    databasePassword: randomToken(systemRandom, 24),
  }
  const beside = `${file}.${process.pid}`
  writeFileSync(beside, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 })
  try {
    linkSync(beside, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(beside)
  }
  return secrets.parse(JSON.parse(readFileSync(file, 'utf8')))
}
