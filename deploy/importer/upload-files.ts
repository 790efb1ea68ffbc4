import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, lstat, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '@gatehouse/runtime'
import { isUploadName, type ImageConverter } from '@gatehouse/uploads'
import type { FileUse, ImportContext } from './context.ts'
import { timestamp } from './values.ts'

type Folders = { from: string | null; to: string; images: ImageConverter }
type Owner = NonNullable<FileUse['owner']>

/** Of those that profiles and messages name. Pictures of profiles become WebP without metadata under names of their own. */
export async function importFiles(context: ImportContext, { from, to, images }: Folders): Promise<void> {
  const { files, report } = context
  if (from === null) {
    if (files.length > 0)
      report.note(`${files.length} files are named by rows and were not copied: name their folder with --uploads`)
    return
  }
  const present = new Set(await readdir(from))
  const counts = { attachments: 0, pictures: 0, missingFiles: 0, bytes: 0 }
  for (const { name, owner } of files) {
    const path = join(from, name)
    const isPlain = isUploadName(name) && present.has(name) && (await lstat(path)).isFile()
    if (!isPlain) {
      counts.missingFiles += 1
      if (owner)
        report.tell('users', owner.userId, `the file of its ${owner.column} is missing, so it was not imported`)
    } else if (owner) {
      counts.pictures += Number(await convertPicture(context, { path, to, images, owner }))
    } else {
      counts.attachments += 1
      counts.bytes += await copyAttachment(path, join(to, name))
    }
  }
  const names = new Set(files.map(({ name }) => name))
  const unnamed = [...present].filter((name) => !names.has(name))
  report.leaveBehind('files that nothing names, thumbnails and leftovers', unnamed.length)
  const { attachments, bytes, pictures, missingFiles } = counts
  report.note(`files: ${attachments} attachments (${bytes} bytes), ${pictures} pictures, ${missingFiles} missing`)
}

type Picture = { path: string; to: string; images: ImageConverter; owner: Owner }

async function convertPicture(context: ImportContext, { path, to, images, owner }: Picture): Promise<boolean> {
  // The same in each run: what a killed one left is replaced by the next.
  const hash = createHash('sha256').update(`${owner.userId} ${owner.column} ${path}`).digest('hex')
  const filename = `${hash.slice(0, 32)}.webp`
  const target = join(to, filename)
  let size: number
  try {
    size = await images.convert({ userId: owner.userId, path, target })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error // as a full disk: the picture is not at fault
    await rm(target, { force: true })
    context.report.tell(
      'users',
      owner.userId,
      `its ${owner.column} cannot be converted (${error.message}), so it was not imported`,
    )
    return false
  }
  await context.client.query(
    `insert into uploads (filename, user_id, size, mimetype, created_at, claimed_at) values ($1, $2, $3, 'image/webp', $4, $4)`,
    [filename, owner.userId, size, timestamp(context.now)],
  )
  // The column is one of two of this program.
  await context.client.query(`update users set ${owner.column} = $1 where id = $2`, [filename, owner.userId])
  return true
}

async function copyAttachment(path: string, target: string): Promise<number> {
  await copyFile(path, target, constants.COPYFILE_FICLONE)
  const [{ size }, copied] = [await stat(path), await stat(target)]
  if (size !== copied.size) throw new Error(`${path} changed while it was copied`)
  return size
}
