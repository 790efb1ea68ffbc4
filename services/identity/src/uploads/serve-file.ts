import { extname } from 'node:path'
import { refuse } from '@gatehouse/runtime'
import { untilFirstChunk } from '@gatehouse/service-kit'
import type { ByteRange, OpenUpload, UploadStore } from '@gatehouse/uploads'
import type { Context } from 'koa'

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
 * file. Throws upload_unknown, range_not_satisfiable, UploadStoreUnavailable. Contract: 3, uploads.
 */
export async function serveFile(ctx: Context, store: UploadStore, filename: string): Promise<void> {
  // What may be answered without the content, or with a part of it, needs the size first.
  const needsSize = ctx.method === 'HEAD' || ['range', 'if-none-match'].some((name) => ctx.get(name) !== '')
  const file = needsSize ? await store.find(filename) : await store.open(filename)
  if (!file) throw refuse.upload_unknown()
  const { size } = file
  const etag = `"${filename}"`
  const isRangeRequest = ctx.get('range') !== '' && ['', etag].includes(ctx.get('if-range'))
  const range = isRangeRequest ? parseByteRange(ctx.get('range'), size) : undefined
  if (range === 'unsatisfiable') {
    throw refuse.range_not_satisfiable({ headers: { 'Content-Range': `bytes */${size}` } })
  }
  ctx.status = 200
  ctx.set('ETag', etag)
  const isFresh = ctx.fresh
  const opened = 'content' in file || isFresh || ctx.method === 'HEAD' ? file : await store.open(filename, range)
  if (!opened) throw refuse.upload_unknown()
  const content = 'content' in opened ? (opened as OpenUpload).content : undefined
  if (content) await untilFirstChunk(ctx, content)
  const type = imageTypes[extname(filename).toLowerCase()]
  ctx.set({
    'Content-Type': type ?? 'application/octet-stream',
    'Cache-Control': 'public, max-age=31536000, immutable',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Accept-Ranges': 'bytes',
    ...(type ? {} : { 'Content-Disposition': 'attachment' }),
  })
  if (isFresh) {
    ctx.status = 304
    return
  }
  if (content) ctx.body = content
  ctx.length = range ? range.end - range.start + 1 : size
  if (!range) return
  ctx.status = 206
  ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${size}`)
}

/** Undefined: the header is ignored, because it is malformed, or has another unit or several ranges. RFC 9110, 14. */
export function parseByteRange(header: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first === '') {
    const isEmpty = Number(last) === 0 || size === 0
    return isEmpty ? 'unsatisfiable' : { start: Math.max(0, size - Number(last)), end: size - 1 }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}
