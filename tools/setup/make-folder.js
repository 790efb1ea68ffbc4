import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/** @param {string} path made with its parents. Node's own recursive form never ends below /proc. */
export function makeFolder(path) {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    if (!existsSync(path)) throw error
  }
}
