import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * With its parents. Node's own recursive form never ends below /proc.
 * @param {string} path
 */
export function makeFolder(path) {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    if (!existsSync(path)) throw error
  }
}
