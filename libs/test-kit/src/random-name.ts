import { randomBytes } from 'node:crypto'

/** A name that no other test uses: fits a database, a subject token, a stream and a key. */
export function randomName(): string {
  return `t_${randomBytes(6).toString('hex')}`
}
