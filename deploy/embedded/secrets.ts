import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFile } from '@gatehouse/local-servers'
import { randomToken, systemRandom } from '@gatehouse/runtime'
import { ConfigurationError } from '@gatehouse/service-kit/start'
import { z } from 'zod'
import { makeFolder } from '../../tools/setup/make-folder.js'

const secrets = z.object({
  jwtSecret: z.string().min(32),
  internalSecret: z.string().min(32),
  encryptionSecret: z.string().min(32),
  operatorSecret: z.string().min(32),
  databasePassword: z.string().min(32),
})
export type Secrets = z.infer<typeof secrets>

/** What a backup keeps of them: the password of the database stays with its folder. */
export type KeptSecrets = Pick<Secrets, 'jwtSecret' | 'internalSecret'> & { encryptionSecret?: string | undefined }

/** Throws ConfigurationError. */
export function loadOrCreateSecrets(dataFolder: string): Secrets {
  const file = join(dataFolder, 'secrets.json')
  try {
    makeFolder(dataFolder)
    const stored = readIfExists(file)
    if (stored !== undefined) return addMissing(file, JSON.parse(stored) as object)
    // Of parallel processes the first creates the file.
    createFile(file, `${JSON.stringify(generateSecrets(), null, 2)}\n`)
    return secrets.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (cause) {
    const remedy = 'check that the folder is writable and the file is complete'
    throw new ConfigurationError([`GATEHOUSE_DATA: cannot read or create the secrets in ${file}; ${remedy}`], { cause })
  }
}

/** Folders of 0.2.0 have no encryptionSecret and no operatorSecret. */
function addMissing(file: string, stored: object): Secrets {
  const { encryptionSecret, operatorSecret } = generateSecrets()
  const complete = secrets.parse({ encryptionSecret, operatorSecret, ...stored })
  if (!('encryptionSecret' in stored && 'operatorSecret' in stored)) replaceFile(file, complete)
  return complete
}

/** The password of the database and the operator's key stay. Needs the lock of the database. Throws ConfigurationError. */
export function replaceSecrets(dataFolder: string, kept: KeptSecrets): void {
  const file = join(dataFolder, 'secrets.json')
  const own = loadOrCreateSecrets(dataFolder)
  const { jwtSecret, internalSecret, encryptionSecret = own.encryptionSecret } = kept
  replaceFile(file, { ...own, jwtSecret, internalSecret, encryptionSecret })
}

function replaceFile(file: string, content: Secrets): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
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
    encryptionSecret: randomToken(systemRandom, 48),
    operatorSecret: randomToken(systemRandom, 48),
    databasePassword: randomToken(systemRandom, 24),
  }
}
