import { join } from 'node:path'

/** Where files lie while they come in, on the disk of the finished ones. No public name starts with a dot. */
export function partsFolder(uploadDir: string): string {
  return join(uploadDir, '.incoming')
}
