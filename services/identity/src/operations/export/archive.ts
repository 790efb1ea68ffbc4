import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { ZipFile } from 'yazl'

/** Content is read when its turn comes, no faster than the archive is read. */
export type ArchivePart = { name: string; content: Readable | AsyncIterable<Buffer>; compress: boolean }

/** A ZIP archive. A part that fails destroys the stream. A stream that closes early closes its part. */
export function createArchive(parts: AsyncIterable<ArchivePart>, { modifiedAt }: { modifiedAt: Date }): Readable {
  const zip = new ZipFile()
  const output = zip.outputStream as Readable
  const closed = new AbortController()
  output.once('close', () => closed.abort())
  zip.on('error', (error) => output.destroy(error as Error))
  writeParts(zip, parts, { mtime: modifiedAt, signal: closed.signal }).then(
    () => zip.end(),
    (error: unknown) => output.destroy(error as Error),
  )
  return output
}

type Writing = { mtime: Date; signal: AbortSignal }

async function writeParts(zip: ZipFile, parts: AsyncIterable<ArchivePart>, { mtime, signal }: Writing): Promise<void> {
  for await (const { name, content, compress } of parts) {
    const stream = content instanceof Readable ? content : Readable.from(content, { objectMode: false })
    try {
      signal.throwIfAborted()
      zip.addReadStream(stream, name, { mtime, compress })
      await finished(stream, { signal, writable: false })
    } finally {
      stream.destroy()
    }
  }
}

export function jsonPart(name: string, value: object): ArchivePart {
  const text = Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)
  return { name, content: Readable.from([text], { objectMode: false }), compress: true }
}

/** A JSON array of all rows. */
export const rowsPart = (name: string, pages: AsyncIterable<readonly object[]>): ArchivePart => ({
  name,
  content: toJsonArray(pages),
  compress: true,
})

async function* toJsonArray(pages: AsyncIterable<readonly object[]>): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const page of pages) {
    const rows = page.map((row) => JSON.stringify(row)).join(',\n')
    yield Buffer.from(`${isFirst ? '[\n' : ',\n'}${rows}`)
    isFirst = false
  }
  yield Buffer.from(isFirst ? '[]\n' : '\n]\n')
}
