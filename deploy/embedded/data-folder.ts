import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createFile,
  FolderInUse,
  OtherVersion,
  readIfExists,
  startPersistentPostgres,
  WrongPassword,
} from '@gatehouse/local-servers'
import type { LocalServer } from '@gatehouse/local-servers'
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
type Secrets = z.infer<typeof secrets>

/** What a backup keeps of them: the password of the database stays with its folder. */
type KeptSecrets = Pick<Secrets, 'jwtSecret' | 'internalSecret' | 'encryptionSecret'>

/** Throws ConfigurationError. */
export function loadOrCreateSecrets(dataFolder: string): Secrets {
  const file = join(dataFolder, 'secrets.json')
  try {
    makeFolder(dataFolder)
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

/** The password of the database and the operator's key stay. Needs the lock of the database. Throws ConfigurationError. */
export function replaceSecrets(dataFolder: string, kept: KeptSecrets): void {
  const own = loadOrCreateSecrets(dataFolder)
  const { jwtSecret, internalSecret, encryptionSecret } = kept
  const file = join(dataFolder, 'secrets.json')
  const content = { ...own, jwtSecret, internalSecret, encryptionSecret }
  writeFileSync(`${file}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

function generateSecrets(): Secrets {
  const generate = (bytes: number) => randomToken(systemRandom, bytes)
  const [jwtSecret, internalSecret, encryptionSecret] = [generate(48), generate(48), generate(48)]
  return { jwtSecret, internalSecret, encryptionSecret, operatorSecret: generate(48), databasePassword: generate(24) }
}

type PostgresOptions = Omit<Parameters<typeof startPersistentPostgres>[0], 'folder'> & { name?: string }

/** Throws ConfigurationError. */
export async function openPostgres(dataFolder: string, options: PostgresOptions): Promise<LocalServer> {
  const { name = 'database', ...given } = options
  try {
    return await startPersistentPostgres({ folder: join(dataFolder, name), ...given })
  } catch (cause) {
    throw new ConfigurationError([`GATEHOUSE_DATA: ${explainDatabaseError(cause, dataFolder)}`], { cause })
  }
}

const wayToVersion =
  'make a backup with the release that ran here before, and restore it with this one into another data folder (docs/operate/back-up-and-restore.md)'

export function explainDatabaseError(error: unknown, dataFolder: string): string {
  if (error instanceof OtherVersion) return `${error.message}; ${wayToVersion}`
  if (error instanceof FolderInUse) return `${error.message}; stop it or choose another folder`
  const { message, cause } = error as Error
  if (cause instanceof WrongPassword)
    return `the database in ${dataFolder} was made with other secrets; put its secrets.json back or choose another folder`
  return `cannot run the database in ${dataFolder}: ${message}`
}
