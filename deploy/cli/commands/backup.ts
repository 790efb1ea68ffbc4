import { readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { systemRandom } from '@gatehouse/runtime'
import type { Command } from 'commander'
import type { ArchiveManifest } from '../archive/format.ts'
import { restoreArchive } from '../archive/restore-archive.ts'
import { readSecrets, writeSecrets } from '../archive/secrets-file.ts'
import { writeArchive } from '../archive/write-archive.ts'
import { isDistributed } from '../connect.ts'
import { CommandFailure } from '../failure.ts'
import type { Define, Invocation, Result } from '../invocation.ts'
import {
  openPresentInstance,
  openStoppedInstance,
  readDistributed,
  requireEmbeddedInstance,
  type OpenInstance,
} from '../stopped-instance.ts'
import { readSecretLine, record } from '../terminal.ts'
import { openScratchFolder } from '../unfinished.ts'

type SecretOptions = { secrets?: string; passphraseFile?: string }

/** `backup`, `restore`, `secrets show` and `move-up`. docs/operators.md, "Backup and restore". */
export function defineBackupCommands(program: Command, define: Define): void {
  const passphrase = ['--passphrase-file <file>', 'encrypts that file; - reads standard input'] as const
  const opener = ['--passphrase-file <file>', 'opens that file; - reads standard input'] as const
  define(
    program
      .command('backup')
      .argument('<archive>', 'the file to write; it holds password hashes and the secrets of peers')
      .description('Writes one consistent archive of the database and the uploads, also while the instance runs')
      .option('--secrets <file>', 'writes the signing secrets too, into this file apart')
      .option(...passphrase),
    runBackup,
  )
  define(
    program
      .command('restore <archive>')
      .description('Restores an archive into a new, stopped instance')
      .option('--secrets <file>', 'takes the signing secrets of this file, so that sessions go on')
      .option(...opener),
    runRestore,
  )
  const secrets = program.command('secrets').description('The file of secrets that a backup wrote')
  define(
    secrets
      .command('show <file>')
      .description('Prints the secrets')
      .option(...opener),
    async (invocation, options: SecretOptions, file: string) => {
      const found = await readSecrets(resolve(file), await readPassphrase(invocation, options))
      const { jwtSecret: JWT_SECRET, internalSecret: INTERNAL_SECRET, encryptionSecret = '' } = found
      return { json: found, text: record({ JWT_SECRET, INTERNAL_SECRET, ENCRYPTION_SECRET: encryptionSecret }) }
    },
  )
  define(
    program
      .command('move-up')
      .argument('<data-folder>', 'of the stopped embedded instance')
      .description('Carries an embedded instance over into the new distributed one of this environment')
      .option('--new-secret', 'although JWT_SECRET is another one: every session ends'),
    moveUp,
  )
}

async function readPassphrase({ terminal }: Invocation, { passphraseFile }: SecretOptions): Promise<string | null> {
  if (passphraseFile === undefined) return null
  if (passphraseFile === '-') return await readSecretLine(terminal)
  const text = await readFile(passphraseFile, 'utf8').catch((cause: unknown) => {
    throw new CommandFailure('usage', `cannot read ${passphraseFile}: ${(cause as Error).message}`, cause)
  })
  const [line = ''] = text.split(/\r?\n/)
  if (!line) throw new CommandFailure('usage', `${passphraseFile} is empty`)
  return line
}

async function runBackup(invocation: Invocation, options: SecretOptions, file: string): Promise<Result> {
  const { environment, now, progress } = invocation
  const passphrase = await readPassphrase(invocation, options)
  await using instance = await openPresentInstance(environment)
  const { secrets } = instance
  if (options.secrets !== undefined) {
    if (!secrets)
      throw new CommandFailure(
        'usage',
        'JWT_SECRET, INTERNAL_SECRET and ENCRYPTION_SECRET are not all in this environment: leave --secrets out',
      )
    await writeSecrets(resolve(options.secrets), secrets, { passphrase, random: systemRandom })
  }
  try {
    const manifest = await writeArchive({ ...instance, file: resolve(file), now: now(), progress })
    return describe(manifest, `${file} is complete`)
  } catch (error) {
    if (options.secrets !== undefined) await rm(resolve(options.secrets), { force: true })
    throw error
  }
}

async function runRestore(invocation: Invocation, options: SecretOptions, file: string): Promise<Result> {
  const { environment, progress } = invocation
  const passphrase = await readPassphrase(invocation, options)
  const secrets = options.secrets === undefined ? null : await readSecrets(resolve(options.secrets), passphrase)
  await using instance = await openStoppedInstance(environment)
  if (secrets && !instance.keepSecrets && instance.secrets?.jwtSecret !== secrets.jwtSecret) {
    throw new CommandFailure(
      'usage',
      'JWT_SECRET is not that of the backup: set it (`secrets show` prints it), or leave --secrets out',
    )
  }
  if (secrets?.encryptionSecret && !instance.keepSecrets) requireEncryptionSecret(instance, secrets.encryptionSecret)
  const { keepSecrets } = instance
  const beforeCommit = secrets && keepSecrets ? () => keepSecrets(secrets) : undefined
  const target = { ...instance, file: resolve(file), progress }
  const manifest = await restoreArchive({ ...target, ...(beforeCommit && { beforeCommit }) })
  const sessions = secrets || instance.secrets ? '' : '; JWT_SECRET has to stay the same, or every session ends'
  return describe(manifest, `${file} is restored${sessions}`)
}

async function moveUp(
  invocation: Invocation,
  { newSecret }: { newSecret?: boolean },
  dataFolder: string,
): Promise<Result> {
  const { environment, now, progress } = invocation
  if (!isDistributed(environment))
    throw new CommandFailure('usage', 'set DATABASE_URL, and UPLOAD_DIR or UPLOAD_STORE, of the distributed instance')
  requireEmbeddedInstance(resolve(dataFolder))
  // A refusal leaves the schema of the target as it is.
  const known = readDistributed(environment)
  await using source = await openStoppedInstance({ GATEHOUSE_DATA: dataFolder })
  if (!newSecret && known.secrets?.jwtSecret !== source.secrets?.jwtSecret) {
    throw new CommandFailure(
      'usage',
      `JWT_SECRET must be the jwtSecret of ${join(dataFolder, 'secrets.json')}, or every session ends (--new-secret)`,
    )
  }
  requireEncryptionSecret(known, source.encryptionSecret)
  await using target = await openStoppedInstance(environment)
  await using scratch = await openScratchFolder()
  const file = join(scratch.path, 'archive')
  await writeArchive({ ...source, file, now: now(), progress })
  return describe(await restoreArchive({ ...target, file, progress }), `${dataFolder} is carried over`)
}

/** Without it second factors and the secrets of peers would be lost. Throws CommandFailure. */
function requireEncryptionSecret(
  { encryptionSecret }: Pick<OpenInstance, 'encryptionSecret'>,
  expected: string | undefined,
): void {
  if (encryptionSecret === expected) return
  throw new CommandFailure(
    'usage',
    'ENCRYPTION_SECRET is not that of the data: set it to the encryptionSecret of its secrets',
  )
}

function describe({ tables, files, missingFiles }: ArchiveManifest, summary: string): Result {
  const rows = Object.values(tables).reduce((sum, table) => sum + table.rows, 0)
  const gone = missingFiles > 0 ? `, ${missingFiles} files that rows name are missing` : ''
  const json = {
    rows,
    files,
    missingFiles,
    tables: Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, table.rows])),
  }
  return { json, text: `${summary}: ${rows} rows in ${Object.keys(tables).length} tables, ${files} files${gone}` }
}
