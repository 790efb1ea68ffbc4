import { readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { ArchiveManifest } from '../archive/format.ts'
import { restoreArchive } from '../archive/restore-archive.ts'
import { readSecrets, writeSecrets } from '../archive/secrets-file.ts'
import { writeArchive } from '../archive/write-archive.ts'
import { cannotRead, CommandFailure } from '../failure.ts'
import {
  isDistributed,
  namesUploads,
  openPresentDatabase,
  openStoppedInstance,
  readDistributed,
  requireInstance,
} from '../instance.ts'
import { readSecretLine, record, type Define, type DefineGroup, type Invocation, type Result } from '../invocation.ts'
import { openScratchFolder, requireFilePath } from '../unfinished.ts'

type SecretOptions = { secrets?: string; passphraseFile?: string }

/** `backup`, `restore`, `secrets show` and `move-up`. docs/operate/back-up-and-restore.md. */
export function defineBackupCommands(define: Define, group: DefineGroup): void {
  const passphrase = '--passphrase-file <file>'
  const opener = 'file with the passphrase for the secrets file; - for standard input'
  const backup = 'Back up the database and uploads to one archive; works while the instance is running'
  define('backup', backup, runBackup)
    .argument('<archive>', 'file to write; contains password hashes and peer secrets')
    .option('--secrets <file>', 'also write the signing secrets to this separate file')
    .option(passphrase, opener)
  define('restore <archive>', 'Restore an archive into a new, stopped instance', runRestore)
    .option('--secrets <file>', 'use the signing secrets in this file, so that users stay logged in')
    .option(passphrase, opener)
  const defineSecrets = group('secrets', 'Read a secrets file written by backup')
  defineSecrets('show <file>', 'Print the secrets', showSecrets).option(passphrase, opener)
  define('move-up', 'Move a single-process instance into the new distributed instance in this environment', moveUp)
    .argument('<data-folder>', 'data folder of the stopped single-process instance')
    .option('--new-secret', 'allow a different JWT_SECRET; logs everyone out')
}

async function showSecrets(invocation: Invocation, options: SecretOptions, file: string): Promise<Result> {
  const secrets = await readSecrets(resolve(file), await readPassphrase(invocation, options))
  const { jwtSecret: JWT_SECRET, internalSecret: INTERNAL_SECRET, encryptionSecret: ENCRYPTION_SECRET } = secrets
  return { json: secrets, text: record({ JWT_SECRET, INTERNAL_SECRET, ENCRYPTION_SECRET }) }
}

async function readPassphrase({ terminal }: Invocation, { passphraseFile }: SecretOptions): Promise<string | null> {
  if (passphraseFile === undefined) return null
  if (passphraseFile === '-') return await readSecretLine(terminal)
  const text = await readFile(passphraseFile, 'utf8').catch(cannotRead(passphraseFile))
  const [line = ''] = text.split(/\r?\n/)
  if (!line) throw new CommandFailure('usage', `${passphraseFile} is empty`)
  return line
}

async function runBackup(invocation: Invocation, options: SecretOptions, file: string): Promise<Result> {
  const { environment, now, progress } = invocation
  const passphrase = await readPassphrase(invocation, options)
  if (isDistributed(environment) && !namesUploads(environment))
    throw new CommandFailure('usage', 'UPLOAD_DIR: name the folder of the uploads, or set UPLOAD_STORE')
  await using instance = await openPresentDatabase(environment, { isReader: true })
  const secretsFile = options.secrets === undefined ? null : resolve(options.secrets)
  const fault = 'JWT_SECRET, INTERNAL_SECRET and ENCRYPTION_SECRET are not all in this environment'
  if (secretsFile && !instance.secrets) throw new CommandFailure('usage', `${fault}: leave --secrets out`)
  if (secretsFile) await requireFilePath(secretsFile)
  const manifest = await writeArchive({ ...instance, file: resolve(file), now: now(), progress })
  try {
    if (secretsFile && instance.secrets) await writeSecrets(secretsFile, instance.secrets, passphrase)
    return describe(manifest, `Wrote ${file}`)
  } catch (error) {
    await rm(resolve(file), { force: true })
    throw error
  }
}

async function runRestore(invocation: Invocation, options: SecretOptions, file: string): Promise<Result> {
  const { environment, progress } = invocation
  const passphrase = await readPassphrase(invocation, options)
  const secrets = options.secrets === undefined ? null : await readSecrets(resolve(options.secrets), passphrase)
  await using instance = await openStoppedInstance(environment)
  const { keepSecrets } = instance
  if (secrets && !keepSecrets && instance.secrets?.jwtSecret !== secrets.jwtSecret) {
    const remedy = 'set it to the value that `secrets show` prints, or omit --secrets'
    throw new CommandFailure('usage', `JWT_SECRET is not that of the backup: ${remedy}`)
  }
  if (secrets && !keepSecrets) requireEncryptionSecret(instance.encryptionSecret, secrets.encryptionSecret)
  const keeping = secrets && keepSecrets && { beforeCommit: () => keepSecrets(secrets) }
  const manifest = await restoreArchive({ ...instance, file: resolve(file), progress, ...keeping })
  const sessions = secrets || instance.secrets ? '' : '; keep the same JWT_SECRET, or everyone is logged out'
  return describe(manifest, `Restored ${file}${sessions}`)
}

async function moveUp(invocation: Invocation, { newSecret }: { newSecret?: boolean }, dataFolder: string) {
  const { environment, now, progress } = invocation
  if (!isDistributed(environment))
    throw new CommandFailure('usage', 'set DATABASE_URL, and UPLOAD_DIR or UPLOAD_STORE, of the distributed instance')
  requireInstance(resolve(dataFolder))
  // A refusal leaves the schema of the target as it is.
  const settings = readDistributed(environment)
  await using source = await openStoppedInstance({ GATEHOUSE_DATA: dataFolder })
  if (!newSecret && settings.secrets?.jwtSecret !== source.secrets?.jwtSecret) {
    const file = join(dataFolder, 'secrets.json')
    const fault = `JWT_SECRET must be the jwtSecret of ${file}, or every session ends (--new-secret)`
    throw new CommandFailure('usage', fault)
  }
  requireEncryptionSecret(settings.encryptionSecret, source.encryptionSecret)
  await using target = await openStoppedInstance(environment)
  await using scratch = await openScratchFolder()
  const file = join(scratch.path, 'archive')
  await writeArchive({ ...source, file, now: now(), progress })
  return describe(await restoreArchive({ ...target, file, progress }), `Moved ${dataFolder}`)
}

/** Without it second factors and the secrets of peers would be lost. Throws CommandFailure. */
function requireEncryptionSecret(secret: string | undefined, expected: string | undefined): void {
  if (secret === expected) return
  const remedy = 'set it to the encryptionSecret of its secrets'
  throw new CommandFailure('usage', `ENCRYPTION_SECRET is not that of the data: ${remedy}`)
}

function describe({ tables, files, missingFiles }: ArchiveManifest, summary: string): Result {
  const counts = Object.entries(tables).map(([name, table]) => [name, table.rows] as const)
  const rows = counts.reduce((sum, [, count]) => sum + count, 0)
  const gone = missingFiles > 0 ? `, ${missingFiles} files that rows name are missing` : ''
  const json = { rows, files, missingFiles, tables: Object.fromEntries(counts) }
  return { json, text: `${summary}: ${rows} rows in ${counts.length} tables, ${files} files${gone}` }
}
