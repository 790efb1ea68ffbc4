import { createHash } from 'node:crypto'
import { readFile, readdir, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Clock } from '@gatehouse/runtime'
import { policy } from '../policy.ts'

export type Encoding = 'br' | 'gzip'

/** One file of the web app, kept in memory. */
export type WebFile = {
  type: string
  etag: string
  bytes: Buffer
  /** Named by its content, so that it never changes. */
  isImmutable: boolean
  /** The smaller forms, made at first need; undefined for what does not shrink. */
  encoded(encoding: Encoding): Promise<Buffer | undefined>
}

/** The built web app. */
export type WebFiles = {
  /** The file under a path; `/index.html` is there whenever the app is built. */
  find(path: string): Promise<WebFile | undefined>
}

/** Serves the folder's files as of its newest `index.html`, which a build writes anew. */
export function openWebFiles(root: string, clock: Clock): WebFiles {
  let files: Map<string, WebFile> | undefined
  let builtAt = -1
  let checkAfter = 0
  let checking: Promise<void> | undefined

  async function check(): Promise<void> {
    const found = await stat(join(root, 'index.html')).catch(() => undefined)
    if (!found) files = undefined
    else if (!files || found.mtimeMs !== builtAt) files = await readAll(root)
    builtAt = found?.mtimeMs ?? -1
    checkAfter = clock.now() + policy.webCheckMs
  }

  return {
    find: async (path) => {
      if (clock.now() >= checkAfter) {
        checking ??= check().finally(() => (checking = undefined))
        await checking
      }
      return files?.get(path)
    },
  }
}

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}
const shrinking = new Set(['.html', '.js', '.css', '.json', '.webmanifest', '.svg', '.txt', '.ico'])

async function readAll(root: string): Promise<Map<string, WebFile>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const files = new Map<string, WebFile>()
  for (const entry of entries) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    if ((await stat(file)).size > policy.staticFileBytes) continue
    const path = file.slice(root.length).replaceAll('\\', '/').replace(/^\/*/, '/')
    files.set(path, describe(path, await readFile(file)))
  }
  return files
}

function describe(path: string, bytes: Buffer): WebFile {
  const extension = extname(path)
  const forms = new Map<Encoding, Promise<Buffer>>()
  return {
    type: types[extension] ?? 'application/octet-stream',
    etag: createHash('sha256').update(bytes).digest('base64url').slice(0, 22),
    bytes,
    isImmutable: path.startsWith('/assets/'),
    encoded: async (encoding) => {
      if (!shrinking.has(extension) || bytes.length < 1_024) return undefined
      const form = forms.get(encoding) ?? compress[encoding](bytes)
      forms.set(encoding, form)
      return await form
    },
  }
}

const compress: Record<Encoding, (bytes: Buffer) => Promise<Buffer>> = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: 9 }),
}
