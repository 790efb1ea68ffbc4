import { linkSync, rmSync, writeFileSync } from 'node:fs'

/** A crash leaves all of the file or nothing. One of parallel calls succeeds. False when the file exists. */
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
