import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

/** The Node that package-lock.json pins. */
export const pinnedNode = join(root, 'node_modules/node/bin/node')

/** The folder of data, secrets and build output. */
export const dataFolder = (env = process.env) => resolve(root, env.GATEHOUSE_DATA || '.gatehouse')

/** @param {string} line of progress, on standard error */
export function log(line) {
  process.stderr.write(`gatehouse: ${line}\n`)
}
