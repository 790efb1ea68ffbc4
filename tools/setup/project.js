// The set-up scripts are plain JavaScript: they run on Node 20, before anything is installed.
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

/** The runtime that the lock file pins, whatever the machine has. */
export const pinnedNode = join(root, 'node_modules/node/bin/node')

/**
 * Where data and secrets live.
 * @param {Record<string, string | undefined>} env
 */
export function dataFolder(env = process.env) {
  return resolve(root, env.GATEHOUSE_DATA || '.gatehouse')
}

/**
 * Says on the terminal what happens now.
 * @param {string} line
 */
export function say(line) {
  process.stderr.write(`gatehouse: ${line}\n`)
}
