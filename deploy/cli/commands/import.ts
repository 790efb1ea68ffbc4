import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { systemRandom } from '@gatehouse/runtime'
import { createLog, createMetrics } from '@gatehouse/service-kit'
import { startImageConverter, type ImageConverter } from '@gatehouse/uploads'
import type pg from 'pg'
import { cannotRead } from '../failure.ts'
import { fillEmptyInstance } from '../fill-empty-instance.ts'
import { createReport, formatReport, type ImportContext, type ImportReport } from '../import/context.ts'
import { IdSet } from '../import/id-set.ts'
import { importInvites } from '../import/invites.ts'
import { importConversations } from '../import/messages.ts'
import { importPeers } from '../import/peers.ts'
import { finishSettings, importSettings } from '../import/settings.ts'
import { openSource, type Source } from '../import/source.ts'
import { importSpaces } from '../import/spaces.ts'
import { importFiles } from '../import/upload-files.ts'
import { importCredentials } from '../import/user-credentials.ts'
import { importFriends, importReadStates } from '../import/user-data.ts'
import { importUsers } from '../import/users.ts'
import type { Define, Invocation, Result } from '../invocation.ts'
import { encryptionKeyOf, openStoppedInstance } from '../instance.ts'
import type { UploadPlace } from '../upload-staging.ts'

type Options = { uploads?: string; dryRun?: boolean; force?: boolean }

/** `import`. docs/operate/move-and-import.md. */
export function defineImportCommand(define: Define): void {
  define('import', 'Import an instance of the other chat server into this new, stopped instance', runImport)
    .argument('<database>', 'SQLite file of the other chat server; stop that server first')
    .option('--uploads <folder>', 'its uploads folder')
    .option('--dry-run', 'only print the report; changes nothing')
    .option('--force', 'import from a newer, only partly supported version')
}

async function runImport(invocation: Invocation, options: Options, file: string): Promise<Result> {
  const { environment, now, progress } = invocation
  await using instance = await openStoppedInstance(environment)
  const context = { log: createLog({ level: 'error', service: 'import' }), metrics: createMetrics() }
  await using images = startImageConverter(context)
  const { databaseUrl, uploadDir, uploadStore, domain } = instance
  const report = await importDatabase({
    ...{ databaseUrl, uploadDir, uploadStore, domain, images, progress },
    file: resolve(file),
    uploads: options.uploads === undefined ? null : resolve(options.uploads),
    isDryRun: options.dryRun === true,
    isForced: options.force === true,
    encryptionKey: encryptionKeyOf(instance),
    now: now(),
    random: systemRandom,
  })
  return { json: report, text: formatReport(report) }
}

type ImportOptions = UploadPlace &
  Pick<ImportContext, 'domain' | 'encryptionKey' | 'now' | 'random' | 'progress'> & {
    file: string
    uploads: string | null
    isDryRun: boolean
    isForced: boolean
    /** Of the owner of the schema, which is up to date. */
    databaseUrl: string
    images: ImageConverter
  }

/** As `fillEmptyInstance`. A dry run does all but the commit. docs/operate/move-and-import.md. */
export async function importDatabase(options: ImportOptions): Promise<ImportReport> {
  const { file, isForced, uploads } = options
  if (uploads !== null) await readdir(uploads).catch(cannotRead(`the folder ${uploads}`))
  await using source = await openSource(file, { isForced })
  const fill = (client: pg.Client, folder: string) => importAll(client, source, options, folder)
  return await fillEmptyInstance({ ...options, kind: 'import', fill })
}

const parts = {
  settings: importSettings,
  accounts: importUsers,
  credentials: importCredentials,
  invites: importInvites,
  peers: importPeers,
  spaces: importSpaces,
  friends: importFriends,
  conversations: importConversations,
  'read states': importReadStates,
}

async function importAll(client: pg.Client, source: Source, options: ImportOptions, folder: string) {
  const { progress } = options
  const report = createReport()
  for (const remark of source.remarks) report.note(remark)
  const found = { users: new IdSet(), liveUsers: new IdSet(), files: [] }
  const context: ImportContext = { ...options, ...found, source, client, report }
  for (const [name, part] of Object.entries(parts)) {
    progress(`importing ${name}`)
    await part(context)
  }
  progress('copying files')
  await importFiles(context, { from: options.uploads, to: folder, images: options.images })
  await finishSettings(context)
  for (const table of source.unread()) report.leaveBehind(table, source.count(table))
  tellLimits(context)
  await client.query(
    `insert into audit_log (action, actor_username, target_type, detail) values ('instance.imported', 'operator', 'settings', $1)`,
    [JSON.stringify(report.report.tables)],
  )
  return report.report
}

function tellLimits({ report, source }: ImportContext): void {
  const unsent = source.count('federation_outbox')
  if (unsent > 0) report.note(`${unsent} events that were not sent yet are lost: peers will not hear of them`)
  report.note(
    'role permissions, visibility of spaces and types of channels have no place here: access rules are not carried over',
  )
  report.note('passwords of more than 72 bytes log in with their first 72 bytes, or get a reset')
  report.note(
    'set JWT_SECRET, DOMAIN, PUBLIC_ORIGIN and REGISTRATION_OPEN as they were there: then tokens, peers and addresses stay valid',
  )
}
