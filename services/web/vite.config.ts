import { readdir, readFile, writeFile } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'
import { tableOfClients } from '../../tools/browsers/table-of-clients.ts'
import { buildTarget } from '../../tools/browsers/supported-browsers.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const gateway = process.env['GATEWAY_URL'] ?? 'http://127.0.0.1:8080'

export default defineConfig({
  root: here('.'),
  plugins: [tableOfClients, precompress()],
  // Preact is React to everything that imports it, at a fifth of its weight.
  resolve: {
    alias: {
      'react/jsx-runtime': 'preact/jsx-runtime',
      'react-dom/client': 'preact/compat/client',
      'react-dom': 'preact/compat',
      react: 'preact/compat',
    },
  },
  build: {
    outDir: process.env['WEB_OUT'] ?? here('../../.gatehouse/web'),
    emptyOutDir: true,
    target: buildTarget,
    // The content security policy of the gateway forbids inline code.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    // What the first page needs compresses best as one.
    // The first page names all others, and a hash is what does not compress.
    rolldownOptions: {
      output: {
        codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] },
        entryFileNames: 'assets/[name]-[hash:6].js',
        chunkFileNames: 'assets/[name]-[hash:6].js',
        assetFileNames: 'assets/[name]-[hash:6][extname]',
      },
    },
  },
  server: {
    host: '127.0.0.1',
    proxy: { '/api': gateway, '/oauth2': gateway, '/.well-known': gateway, '/ws': { target: gateway, ws: true } },
  },
})

/** Writes a `.br` and a `.gz` beside each file of the build that compresses well. The gateway sends them. */
function precompress(): Plugin {
  let folder = ''
  return {
    name: 'precompress',
    apply: 'build',
    configResolved: ({ root, build }) => {
      folder = resolve(root, build.outDir)
    },
    writeBundle: { order: 'post', sequential: true, handler: () => compressFolder(folder) },
  }
}

async function compressFolder(folder: string): Promise<void> {
  const compressible = new Set(['.html', '.js', '.css', '.json', '.webmanifest', '.svg', '.txt', '.ico'])
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !compressible.has(extname(entry.name))) continue
    const file = join(entry.parentPath, entry.name)
    const bytes = await readFile(file)
    // Below this size the compressed form saves no packet.
    if (bytes.length < 1_024) continue
    const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
    await writeFile(`${file}.br`, await promisify(brotliCompress)(bytes, { params: quality }))
    await writeFile(`${file}.gz`, await promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }))
  }
}
