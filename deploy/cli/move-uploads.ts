import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { UploadStoreConfig } from '@gatehouse/service-kit'
import type pg from 'pg'
import { makeFolder } from '../../tools/setup/make-folder.js'
import { tempUploadDir } from '../../services/identity/src/uploads/upload-files.ts'
import { openUploadStore } from '../../services/identity/src/uploads/open-upload-store.ts'
import { type UploadStore } from '../../services/identity/src/uploads/upload-store.ts'
import { listFiles } from './archive/write-archive.ts'
import { atOnce, filesAtOnce } from './at-once.ts'
import { CommandFailure } from './failure.ts'

/** What a store that uploads moved to belongs to. Whatever else is in it may be removed. */
const ownerFile = 'gatehouse-uploads.txt'

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

export type Moved = {
  copied: number
  bytes: number
  present: number
  missing: number
  withdrawn: number
  removed: number
}

/**
 * Copies what rows name. An upload has its row before it is in a store: what a store had before the rows were read, and
 * no row names, was deleted meanwhile. May be repeated and interrupted. Throws CommandFailure. docs/operators.md, "The
 * store of uploads".
 */
export async function moveUploads({ client, from, to, scratch, isRemoving, progress }: Move): Promise<Moved> {
  if ('folder' in to) makeFolder(tempUploadDir(to.folder))
  const [source, target] = [await openUploadStore(from), await openUploadStore(to)]
  await source.check()
  await target.check()
  await claimStore(client, target, scratch)
  const there = new Map<string, number>()
  for await (const { name, size } of target.list()) if (name !== ownerFile) there.set(name, size)
  const moved: Moved = { copied: 0, bytes: 0, present: 0, missing: 0, withdrawn: 0, removed: 0 }
  const names = await listFiles(client)
  let done = 0
  await atOnce(names, filesAtOnce, async (name) => {
    const size = there.get(name)
    const found = await source.find(name)
    if (found && found.size !== size) {
      moved.bytes += await copyVerified({ source, target, scratch }, name)
      moved.copied += 1
      there.set(name, found.size)
    } else if (size === undefined) moved.missing += 1
    else moved.present += 1
    done += 1
    if (done % 500 === 0) progress(`${done} of ${names.length} files`)
  })
  const named = new Set(await listFiles(client))
  await atOnce(there.keys(), filesAtOnce, async (name) => {
    if (!named.has(name)) {
      await target.remove(name)
      moved.withdrawn += 1
    } else if (isRemoving && (await source.find(name))) {
      await source.remove(name)
      moved.removed += 1
    }
  })
  return moved
}

/** Throws CommandFailure for a store that has files of others. */
async function claimStore(client: pg.ClientBase, target: UploadStore, scratch: string): Promise<void> {
  const { rows } = await client.query<{ id: string }>('select instance_id as id from instance_settings')
  const owner = rows[0]?.id ?? ''
  const found = await target.open(ownerFile)
  if (found && (await text(found.content)) === owner) return
  const { done: isEmpty } = await target.list().next()
  if (found || !isEmpty)
    throw new CommandFailure('refused', `${target.name} has files that are not of this move: name an empty place`)
  const path = join(scratch, ownerFile)
  await writeFile(path, owner)
  await target.put(ownerFile, path)
}

/** Gives the size. Throws CommandFailure when the new store gives back something else. */
async function copyVerified(
  { source, target, scratch }: { source: UploadStore; target: UploadStore; scratch: string },
  name: string,
): Promise<number> {
  const path = join(scratch, name)
  try {
    const sent = await receive(source, name, path)
    await target.put(name, path)
    const kept = await receive(target, name, path)
    if (sent.size === kept.size && sent.hash === kept.hash) return sent.size
    await target.remove(name)
    throw new CommandFailure('failed', `${target.name} gives back something else than it was given for ${name}`)
  } finally {
    await rm(path, { force: true })
  }
}

async function receive(store: UploadStore, name: string, path: string): Promise<{ size: number; hash: string }> {
  const found = await store.open(name)
  if (!found) return { size: 0, hash: '' }
  const hash = createHash('sha256')
  found.content.on('data', (chunk) => hash.update(chunk as Buffer))
  await pipeline(found.content, createWriteStream(path))
  const { size } = await stat(path)
  if (size !== found.size) throw new CommandFailure('failed', `${store.name} gave a part of ${name} only`)
  return { size, hash: hash.digest('hex') }
}
