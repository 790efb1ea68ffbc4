import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'

const excluded = /(^|\/)(node_modules|dist|test|test-kit)(\/|$)|\.test\.tsx?$|\.md$/

/**
 * A hash of the paths and contents of all source files below these paths.
 * @param {string} folder which the paths are relative to
 * @param {string[]} paths
 */
export function hashSources(folder, paths) {
  const hash = createHash('sha256')
  for (const path of paths) {
    for (const file of listSources(folder, join(folder, path))) {
      hash
        .update(`${relative(folder, file)}\0`)
        .update(readFileSync(file))
        .update('\0')
    }
  }
  return hash.digest('hex')
}

/**
 * @param {string} folder
 * @param {string} path
 * @returns {string[]}
 */
function listSources(folder, path) {
  if (excluded.test(relative(folder, path))) return []
  if (statSync(path).isFile()) return [path]
  const names = readdirSync(path).sort()
  return names.flatMap((name) => listSources(folder, join(path, name)))
}
