import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFile } from '@gatehouse/local-servers'
import { randomToken, systemRandom } from '@gatehouse/runtime'
import { ConfigurationError } from '@gatehouse/service-kit/start'
import { z } from 'zod'

const secrets = z.object({
  jwtSecret: z.string().min(32),
  internalSecret: z.string().min(32),
  databasePassword: z.string().min(32),
})
export type Secrets = z.infer<typeof secrets>

/** Throws ConfigurationError. */
export function loadOrCreateSecrets(dataFolder: string): Secrets {
  const file = join(dataFolder, 'secrets.json')
  try {
    mkdirSync(dataFolder, { recursive: true })
    const stored = readIfExists(file)
    if (stored !== undefined) return secrets.parse(JSON.parse(stored))
    // Of parallel processes the first creates the file.
    createFile(file, `${JSON.stringify(generateSecrets(), null, 2)}\n`)
    return secrets.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    const remedy = 'check that the folder is writable and the file is complete'
    throw new ConfigurationError([`GATEHOUSE_DATA: cannot read or create the secrets in ${file}; ${remedy}`], { cause })
  }
}

/** The password of the database stays. Needs the lock of the database. Throws ConfigurationError. */
export function replaceSecrets(dataFolder: string, kept: Pick<Secrets, 'jwtSecret' | 'internalSecret'>): void {
  const file = join(dataFolder, 'secrets.json')
  const { databasePassword } = loadOrCreateSecrets(dataFolder)
  const { jwtSecret, internalSecret } = kept
  writeFileSync(`${file}.new`, `${JSON.stringify({ jwtSecret, internalSecret, databasePassword }, null, 2)}\n`, {
    mode: 0o600,
  })
  renameSync(`${file}.new`, file)
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function generateSecrets(): Secrets {
  return {
    jwtSecret: randomToken(systemRandom, 48),
    internalSecret: randomToken(systemRandom, 48),
    databasePassword: randomToken(systemRandom, 24),
  }
}
