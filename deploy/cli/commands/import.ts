import { resolve } from 'node:path'
import { systemRandom } from '@gatehouse/runtime'
import { createLog, createMetrics } from '@gatehouse/service-kit'
import type { Command } from 'commander'
import { startImageConverter } from '../../../services/identity/src/uploads/image-converter.ts'
import { importDatabase } from '../import/import-database.ts'
import { formatReport } from '../import/report.ts'
import type { Define, Invocation, Result } from '../invocation.ts'
import { encryptionKeyOf, openStoppedInstance } from '../stopped-instance.ts'

type Options = { uploads?: string; dryRun?: boolean; force?: boolean }

/** `import`. docs/operators.md, "Import". */
export function defineImportCommand(program: Command, define: Define): void {
  define(
    program
      .command('import')
      .argument('<database>', 'the SQLite file of the other chat server, best of a stopped one')
      .description('Imports an instance of the other chat server into this new, stopped one')
      .option('--uploads <folder>', 'its folder of uploads')
      .option('--dry-run', 'do everything and take it back: only the report stays')
      .option('--force', 'import also from a newer version, as far as it is known'),
    runImport,
  )
}

async function runImport(invocation: Invocation, options: Options, file: string): Promise<Result> {
  const { environment, now, progress } = invocation
  await using instance = await openStoppedInstance(environment)
  const context = { log: createLog({ level: 'error', service: 'import' }), metrics: createMetrics() }
  await using images = startImageConverter(context)
  const report = await importDatabase({
    file: resolve(file),
    uploads: options.uploads === undefined ? null : resolve(options.uploads),
    isDryRun: options.dryRun === true,
    isForced: options.force === true,
    databaseUrl: instance.databaseUrl,
    uploadDir: instance.uploadDir,
    uploadStore: instance.uploadStore,
    domain: instance.domain,
    encryptionKey: encryptionKeyOf(instance),
    images,
    now: now(),
    random: systemRandom,
    progress,
  })
  return { json: report, text: formatReport(report) }
}
