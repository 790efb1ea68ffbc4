import { linkSync, rmSync, writeFileSync } from 'node:fs'

/**
 * Creates a file with its whole content in one step: a crash leaves all of it or none, and of several processes that
 * create it at the same time one succeeds. False when the file exists.
 */
export function createFile(file: string, content: string): boolean {
  const temporary = `${file}.${process.pid}`
  writeFileSync(temporary, content, { mode: 0o600 })
  try {
    linkSync(temporary, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(temporary)
  }
}
