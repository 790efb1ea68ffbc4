import { readdir } from 'node:fs/promises'
import type { EncryptionKey } from '@gatehouse/auth'
import type { Random } from '@gatehouse/runtime'
import type pg from 'pg'
import type { ImageConverter } from '../../../services/identity/src/uploads/image-converter.ts'
import { CommandFailure } from '../failure.ts'
import { fillEmptyInstance } from '../fill-empty-instance.ts'
import type { UploadPlace } from '../upload-staging.ts'
import type { ImportContext } from './context.ts'
import { importConversations } from './messages.ts'
import { importCredentials } from './user-credentials.ts'
import { importInvites } from './invites.ts'
import { importPeers } from './peers.ts'
import { createReport, type ImportReport } from './report.ts'
import { finishSettings, importSettings } from './settings.ts'
import { openSource, type Source } from './source.ts'
import { importSpaces } from './spaces.ts'
import { importFiles } from './upload-files.ts'
import { importFriends, importReadStates } from './user-data.ts'
import { importUsers } from './users.ts'

export type ImportOptions = UploadPlace & {
  file: string
  uploads: string | null
  isDryRun: boolean
  isForced: boolean
  /** Of the owner of the schema, which is up to date. */
  databaseUrl: string
  domain: string
  encryptionKey: EncryptionKey
  images: ImageConverter
  now: number
  random: Pick<Random, 'bytes' | 'uuid'>
  progress(line: string): void
}

/** As `fillEmptyInstance`. A dry run does all but the commit. docs/operators.md, "Import". */
export async function importDatabase(options: ImportOptions): Promise<ImportReport> {
  const { file, isForced, uploads } = options
  if (uploads !== null) await requireFolder(uploads)
  await using source = await openSource(file, { isForced })
  return await fillEmptyInstance({
    ...options,
    kind: 'import',
    fill: async (client, folder) => (await runImport(client, source, options, folder)).report,
  })
}

async function requireFolder(folder: string): Promise<void> {
  try {
    await readdir(folder)
  } catch (cause) {
    throw new CommandFailure('usage', `cannot read the folder ${folder}: ${(cause as Error).message}`, cause)
  }
}

async function runImport(client: pg.Client, source: Source, options: ImportOptions, folder: string) {
  const { random, now, domain, encryptionKey, progress } = options
  const report = createReport()
  for (const remark of source.remarks) report.note(remark)
  const found = { users: new Set<string>(), liveUsers: new Set<string>(), files: [] }
  const context: ImportContext = { source, client, report, random, now, domain, encryptionKey, progress, ...found }
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
  return report
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
