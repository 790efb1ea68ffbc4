import type { ImageConverter } from '@gatehouse/uploads'
import type pg from 'pg'
import { createReport, type ImportContext, type ImportReport } from './context.ts'
import { IdSet } from './id-set.ts'
import { importInvites } from './invites.ts'
import { importConversations } from './messages.ts'
import { importPeers } from './peers.ts'
import { finishSettings, importSettings } from './settings.ts'
import type { Source } from './source.ts'
import { importSpaces } from './spaces.ts'
import { importFiles } from './upload-files.ts'
import { importCredentials } from './user-credentials.ts'
import { importFriends, importReadStates } from './user-data.ts'
import { importUsers } from './users.ts'

export { formatReport, type ImportContext, type ImportReport } from './context.ts'
export { ImportFailure, openSource } from './source.ts'

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

type ImportOptions = Pick<ImportContext, 'domain' | 'encryptionKey' | 'now' | 'random' | 'progress'> & {
  uploads: string | null
  images: ImageConverter
}

/** Fills an empty instance within the transaction of `client`. Uploads come to `folder`. docs/operate/move-and-import.md. */
export async function importAll(
  client: pg.Client,
  source: Source,
  options: ImportOptions,
  folder: string,
): Promise<ImportReport> {
  const { progress } = options
  const report = createReport()
  for (const remark of source.remarks) report.note(remark)
  const collections = { users: new IdSet(), liveUsers: new IdSet(), files: [] }
  const context: ImportContext = { ...options, ...collections, source, client, report }
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
