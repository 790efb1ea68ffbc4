import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ImportContext, ImportReport } from '@gatehouse/importer'
import { systemRandom } from '@gatehouse/runtime'
import { createLog, createMetrics } from '@gatehouse/service-kit'
import { startImageConverter, type ImageConverter } from '@gatehouse/uploads'
import type pg from 'pg'
import { cannotRead, CommandFailure } from '../failure.ts'
import { fillEmptyInstance } from '../fill-empty-instance.ts'
import type { Define, Invocation, Result } from '../invocation.ts'
import { encryptionKeyOf, openStoppedInstance } from '../instance.ts'
import { openScratchFolder } from '../unfinished.ts'
import type { UploadPlace } from '../upload-staging.ts'

/** Loaded by the command alone: an instance imports once. */
const loadImporter = () => import('@gatehouse/importer')

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
    databaseUrl,
    uploadDir,
    uploadStore,
    domain,
    images,
    progress,
    file: resolve(file),
    uploads: options.uploads === undefined ? null : resolve(options.uploads),
    isDryRun: options.dryRun === true,
    isForced: options.force === true,
    encryptionKey: encryptionKeyOf(instance),
    now: now(),
    random: systemRandom,
  })
  const { formatReport } = await loadImporter()
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
  const { ImportFailure, importAll, openSource } = await loadImporter()
  await using scratch = await openScratchFolder()
  await using source = await openSource(file, { isForced, scratch: scratch.path }).catch((error: unknown) => {
    throw error instanceof ImportFailure ? new CommandFailure(error.kind, error.message, error) : error
  })
  const fill = (client: pg.Client, folder: string) => importAll(client, source, options, folder)
  return await fillEmptyInstance({ ...options, kind: 'import', fill })
}
