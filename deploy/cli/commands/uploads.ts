import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createClient } from '@gatehouse/database'
import { readVariables, uploadSettings, uploadStoreConfig, type UploadStoreConfig } from '@gatehouse/service-kit'
import { openUploadStore, tempUploadDir, type UploadStore } from '@gatehouse/uploads'
import type pg from 'pg'
import { makeFolder } from '../../../tools/setup/make-folder.js'
import { listFiles } from '../archive/write-archive.ts'
import { CommandFailure, storageFailure } from '../failure.ts'
import { configured, openPresentDatabase } from '../instance.ts'
import type { DefineGroup, Environment, Invocation } from '../invocation.ts'
import { openScratchFolder } from '../unfinished.ts'
import { eachFile } from '../upload-staging.ts'

/** `uploads move`. docs/operate/store-uploads-in-s3.md. */
export function defineUploadCommands(group: DefineGroup): void {
  const define = group('uploads', 'Manage where uploads are stored')
  const description = 'Copy uploads to another store; works while the instance is running and can be resumed'
  define('move', description, runMove)
    .requiredOption('--to <store>', 'target: file:<folder> or s3://bucket/prefix (uses the AWS_… variables)')
    .option('--from <store>', 'current store, if UPLOAD_STORE already names the new one')
    .option('--remove', 'also delete copied files from the old store; UPLOAD_STORE must already name the new one')
}

async function runMove(invocation: Invocation, options: { from?: string; to: string; remove?: boolean }) {
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
  try {
    await client.connect()
    const isRemoving = options.remove === true
    const moved = await moveUploads({ client, from, to, scratch: scratch.path, isRemoving, progress })
    const { copied, bytes, present, missing, withdrawn, removed } = moved
    const counts = [
      `${copied} copied (${bytes} bytes)`,
      `${present} were there`,
      `${missing} are in neither`,
      `${withdrawn} removed from it because no row names them any more`,
      ...(isRemoving ? [`${removed} removed from ${source}`] : []),
    ]
    return { json: moved, text: `${target}: ${counts.join(', ')}` }
  } catch (error) {
    throw explain(error)
  } finally {
    await client.end()
  }
}

async function nameOf(config: UploadStoreConfig): Promise<string> {
  const place = 'folder' in config ? '' : `${config.endpoint} `
  return `${place}${(await openUploadStore(config)).name}`
}

/** Throws CommandFailure with every fault. */
function readStore(environment: Environment, store: string): UploadStoreConfig {
  return configured(() => {
    const variables = readVariables({ ...environment, UPLOAD_STORE: store }, uploadSettings)
    return uploadStoreConfig(variables.UPLOAD_STORE, variables)
  })
}

function explain(error: unknown): unknown {
  const failure = storageFailure(error, 'what was copied stays, run the command again')
  const { code = '', message } = error as { code?: string; message: string }
  return (
    failure ?? (['ENOENT', 'EACCES', 'ENOTDIR'].includes(code) ? new CommandFailure('usage', message, error) : error)
  )
}

type Move = {
  /** Of the owner of the schema. */
  client: pg.ClientBase
  from: UploadStoreConfig
  to: UploadStoreConfig
  /** On the disk. */
  scratch: string
  isRemoving: boolean
  progress(line: string): void
}

/**
 * Copies what rows name. An upload has its row before it is in a store: what a store had before the rows were read, and
 * no row names, was deleted meanwhile. May be repeated and interrupted. Throws CommandFailure.
 */
async function moveUploads({ client, from, to, scratch, isRemoving, progress }: Move) {
  if ('folder' in to) makeFolder(tempUploadDir(to.folder))
  const [source, target] = [await openUploadStore(from), await openUploadStore(to)]
  await source.check()
  await target.check()
  await claimStore(client, target, scratch)
  const there = new Map<string, number>()
  for await (const { name, size } of target.list()) if (name !== ownerFile) there.set(name, size)
  const moved = { copied: 0, bytes: 0, present: 0, missing: 0, withdrawn: 0, removed: 0 }
  const names = await listFiles(client)
  let count = 0
  await eachFile(names, async (name) => {
    const size = there.get(name)
    const file = await source.find(name)
    if (file && file.size !== size) {
      moved.bytes += await copyVerified({ source, target, scratch }, name)
      moved.copied += 1
      there.set(name, file.size)
    } else if (size === undefined) moved.missing += 1
    else moved.present += 1
    count += 1
    if (count % 500 === 0) progress(`${count} of ${names.length} files`)
  })
  const currentNames = new Set(await listFiles(client))
  await eachFile(there.keys(), async (name) => {
    if (!currentNames.has(name)) {
      await target.remove(name)
      moved.withdrawn += 1
    } else if (isRemoving && (await source.find(name))) {
      await source.remove(name)
      moved.removed += 1
    }
  })
  return moved
}

/** What a store that uploads moved to belongs to. Whatever else is in it may be removed. */
const ownerFile = 'gatehouse-uploads.txt'

/** Throws CommandFailure for a store that has files of others. */
async function claimStore(client: pg.ClientBase, target: UploadStore, scratch: string): Promise<void> {
  const { rows } = await client.query<{ id: string }>('select instance_id as id from instance_settings')
  const owner = rows[0]?.id ?? ''
  const file = await target.open(ownerFile)
  if (file && (await text(file.content)) === owner) return
  const { done: isEmpty } = await target.list().next()
  if (file || !isEmpty)
    throw new CommandFailure('refused', `${target.name} has files that are not of this move: name an empty place`)
  const path = join(scratch, ownerFile)
  await writeFile(path, owner)
  await target.put(ownerFile, path)
}

type Stores = { source: UploadStore; target: UploadStore; scratch: string }

/** Gives the size. Throws CommandFailure when the new store gives back something else. */
async function copyVerified({ source, target, scratch }: Stores, name: string): Promise<number> {
  const path = join(scratch, name)
  try {
    const sent = await receive(source, name, path)
    await target.put(name, path)
    const copy = await receive(target, name, path)
    if (sent.size === copy.size && sent.hash === copy.hash) return sent.size
    await target.remove(name)
    throw new CommandFailure('failed', `${target.name} gives back something else than it was given for ${name}`)
  } finally {
    await rm(path, { force: true })
  }
}

async function receive(store: UploadStore, name: string, path: string): Promise<{ size: number; hash: string }> {
  const file = await store.open(name)
  if (!file) return { size: 0, hash: '' }
  const hash = createHash('sha256')
  file.content.on('data', (chunk) => hash.update(chunk as Buffer))
  await pipeline(file.content, createWriteStream(path))
  const { size } = await stat(path)
  if (size !== file.size) throw new CommandFailure('failed', `${store.name} gave a part of ${name} only`)
  return { size, hash: hash.digest('hex') }
}
