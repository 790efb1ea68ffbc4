import { fileURLToPath } from 'node:url'
import { buildUpstream } from './build-upstream.ts'

// npm run build:upstream [folder]
const folder = process.argv[2] ?? fileURLToPath(new URL('../dist', import.meta.url))
process.stdout.write(`${await buildUpstream(folder)}\n`)
