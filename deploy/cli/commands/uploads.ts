import { createClient } from '@gatehouse/database'
import { readVariables, uploadSettings, uploadStoreConfig, type UploadStoreConfig } from '@gatehouse/service-kit'
import type { Command } from 'commander'
import { openUploadStore } from '../../../services/identity/src/uploads/open-upload-store.ts'
import { UploadStoreUnavailable } from '../../../services/identity/src/uploads/upload-store.ts'
import { configured } from '../connect.ts'
import { CommandFailure, isDiskFull, storeFailure } from '../failure.ts'
import type { Define, Environment, Invocation, Result } from '../invocation.ts'
import { moveUploads } from '../move-uploads.ts'
import { openPresentDatabase } from '../stopped-instance.ts'
import { openScratchFolder } from '../unfinished.ts'

type Options = { from?: string; to: string; remove?: boolean }

/** `uploads move`. docs/operators.md, "The store of uploads". */
export function defineUploadCommands(program: Command, define: Define): void {
  define(
    program
      .command('uploads')
      .description('The store of uploads')
      .command('move')
      .description('Copies the uploads into another store, also while the instance runs; a repeated run goes on')
      .requiredOption('--to <store>', 'file:<folder> or s3://bucket/prefix, with the AWS variables of this environment')
      .option('--from <store>', 'the store they are in, where UPLOAD_STORE names another one already')
      .option('--remove', 'also removes from the old store what the new one has; UPLOAD_STORE must be the new one'),
    runMove,
  )
}

async function runMove(invocation: Invocation, options: Options): Promise<Result> {
  const { environment, progress } = invocation
  await using instance = await openPresentDatabase(environment)
  const to = readStore(environment, options.to)
  const from = options.from === undefined ? instance.uploadStore : readStore(environment, options.from)
  const [source, target, inUse] = await Promise.all([from, to, instance.uploadStore].map(nameOf))
  if (source === target)
    throw new CommandFailure('usage', `the uploads are in ${target} already: name the old store with --from`)
  if (options.remove && inUse !== target)
    throw new CommandFailure('refused', `${source} may be in use: set UPLOAD_STORE to ${options.to} everywhere first`)
  if (options.remove) await invocation.confirm(`Remove from ${source} what ${target} has?`)
  await using scratch = await openScratchFolder()
  const client = await createClient(instance.databaseUrl, 'gatehouse-uploads')
  await client.connect()
  try {
    const moved = await moveUploads({
      ...{ client, from, to, scratch: scratch.path, progress },
      isRemoving: options.remove === true,
    })
    const { copied, bytes, present, missing, withdrawn, removed } = moved
    const counts = [
      `${copied} copied (${bytes} bytes)`,
      `${present} were there`,
      `${missing} are in neither`,
      `${withdrawn} removed from it because no row names them any more`,
      ...(options.remove ? [`${removed} removed from ${source}`] : []),
    ]
    return { json: moved, text: `${target}: ${counts.join(', ')}` }
  } catch (error) {
    throw explain(error)
  } finally {
    await client.end()
  }
}

const nameOf = async (config: UploadStoreConfig): Promise<string> => {
  const place = 'folder' in config ? '' : `${config.endpoint} `
  return `${place}${(await openUploadStore(config)).name}`
}

/** Throws CommandFailure with every fault. */
function readStore(environment: Environment, store: string): UploadStoreConfig {
  return configured(() => {
    const given = readVariables({ ...environment, UPLOAD_STORE: store }, uploadSettings)
    return uploadStoreConfig(given.UPLOAD_STORE, given)
  })
}

function explain(error: unknown): unknown {
  const { code, message } = error as { code?: string; message: string }
  const rest = 'what was copied stays, run the command again'
  if (error instanceof UploadStoreUnavailable) return storeFailure(error, rest)
  if (isDiskFull(error)) return new CommandFailure('failed', `the disk is full: ${rest}`, error)
  if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOTDIR') return new CommandFailure('usage', message, error)
  return error
}
