import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'

export const testFolders = ['libs', 'gateway', 'services', 'deploy', 'tools', 'test']
const TEST_FILE = /\.test\.tsx?$/

/**
 * The test files at or below these paths, sorted, as paths from the project's root. Throws on a path that holds none.
 * @param {string} root
 * @param {string[]} paths files or folders, relative to the root
 * @returns {string[]}
 */
export function listTestFiles(root, paths) {
  const found = paths.flatMap((path) => {
    const files = walk(resolve(root, path))
    if (files.length === 0) throw new Error(`No test file at ${path}`)
    return files
  })
  return [...new Set(found)].sort().map((file) => relative(root, file).split(sep).join('/'))
}

/** @param {string} root */
export function listAllTestFiles(root) {
  const folders = testFolders.filter((folder) => existsSync(join(root, folder)))
  return folders.flatMap((folder) => walk(join(root, folder))).map((file) => relative(root, file).split(sep).join('/'))
}

/**
 * Whether any of these files drives a browser.
 * @param {string} root
 * @param {string[]} files
 */
export function needsBrowser(root, files) {
  return files.some((file) => /\blaunchChromium\b|\bchromiumPath\b/.test(readFileSync(join(root, file), 'utf8')))
}

/**
 * @param {string} path
 * @returns {string[]}
 */
function walk(path) {
  if (!existsSync(path)) return []
  if (statSync(path).isFile()) return TEST_FILE.test(path) ? [path] : []
  const names = readdirSync(path).sort()
  return names.filter((name) => name !== 'node_modules').flatMap((name) => walk(join(path, name)))
}
