import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { Context } from 'koa'
import { refuse } from '@gatehouse/runtime'
import { isUploadName } from './upload-files.ts'

/** Other files are downloads, so that no browser runs them. */
const imageTypes: Record<string, string> = {
  '.webp': 'image/webp',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.avif': 'image/avif',
}

/**
 * The content of a name never changes. NOTE: `send` follows symbolic links, and answers 416 where RFC 9110 demands the
 * file. Throws upload_unknown, range_not_satisfiable. Contract: 3, uploads.
 */
export async function serveFile(ctx: Context, uploadDir: string, filename: string): Promise<void> {
  const file = await openFile(uploadDir, filename)
  if (!file) throw refuse.upload_unknown()
  const { handle, size } = file
  const etag = `"${filename}"`
  const isRangeRequest = ctx.get('range') !== '' && ['', etag].includes(ctx.get('if-range'))
  const range = isRangeRequest ? parseByteRange(ctx.get('range'), size) : undefined
  if (range === 'unsatisfiable') {
    await handle.close()
    throw refuse.range_not_satisfiable({ headers: { 'Content-Range': `bytes */${size}` } })
  }
  setFileHeaders(ctx, filename, etag)
  ctx.status = 200
  if (ctx.fresh) {
    await handle.close()
    ctx.status = 304
    return
  }
  ctx.body = handle.createReadStream(range)
  ctx.length = range ? range.end - range.start + 1 : size
  if (!range) return
  ctx.status = 206
  ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${size}`)
}

function setFileHeaders(ctx: Context, filename: string, etag: string): void {
  const type = imageTypes[extname(filename).toLowerCase()]
  ctx.set({
    'Content-Type': type ?? 'application/octet-stream',
    'Cache-Control': 'public, max-age=31536000, immutable',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Accept-Ranges': 'bytes',
    ETag: etag,
    ...(type ? {} : { 'Content-Disposition': 'attachment' }),
  })
}

export type OpenFile = { handle: FileHandle; size: number }

/** Undefined for paths, folders and links. The caller closes the handle. */
export async function openFile(folder: string, filename: string): Promise<OpenFile | undefined> {
  if (!isUploadName(filename)) return undefined
  const handle = await openWithoutLinks(join(folder, filename))
  if (!handle) return undefined
  const stats = await handle.stat()
  if (stats.isFile()) return { handle, size: stats.size }
  await handle.close()
  return undefined
}

async function openWithoutLinks(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** Both included. */
export type ByteRange = { start: number; end: number }

/** Undefined: the header is ignored, because it is malformed, or has another unit or several ranges. RFC 9110, 14. */
export function parseByteRange(header: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first === '') return suffixRange(Number(last), size)
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}

function suffixRange(length: number, size: number): ByteRange | 'unsatisfiable' {
  if (length === 0 || size === 0) return 'unsatisfiable'
  return { start: Math.max(0, size - length), end: size - 1 }
}
