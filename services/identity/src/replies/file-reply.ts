import { extname } from 'node:path'
import type { Context } from 'koa'
import { refuse } from '../errors.ts'
import { parseByteRange } from '../uploads/byte-range.ts'
import type { StoredFile } from '../uploads/stored-file.ts'

/** Anything else is offered as a download, so that no browser runs it. */
const imageTypes: Record<string, string> = {
  '.webp': 'image/webp',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.avif': 'image/avif',
}

/**
 * Answers with a file, or the part of it that was asked for, and closes it. A name never gets other content, so it is its
 * own version and may be kept for good. Throws range_not_satisfiable. Contract: 3, uploads.
 */
export async function replyWithFile(ctx: Context, filename: string, { handle, size }: StoredFile): Promise<void> {
  const etag = `"${filename}"`
  const asked = ctx.get('range') !== '' && ['', etag].includes(ctx.get('if-range'))
  const range = asked ? parseByteRange(ctx.get('range'), size) : undefined
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

/** `nosniff` and the policy that lets other instances' clients show the picture are on every answer of the gateway. */
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
