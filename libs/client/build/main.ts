import { fileURLToPath } from 'node:url'
import { buildClient } from './build-client.ts'

// npm run build:client [folder]
const folder = process.argv[2] ?? fileURLToPath(new URL('../dist', import.meta.url))
const { tarball, gzipBytes } = await buildClient(folder)
process.stdout.write(`${tarball}\n`)
for (const [file, bytes] of Object.entries(gzipBytes)) process.stdout.write(`${file}: ${bytes} bytes gzipped\n`)
