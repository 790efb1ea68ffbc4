import { stubPasswordHash } from '@gatehouse/domain'
import { randomToken } from '@gatehouse/runtime'
import { compareSync } from 'bcrypt'
import type { ImportContext } from './context.ts'
import type { SourceRow } from './source.ts'
import { readOptionalTime, readText } from './values.ts'

/** Of no password: nobody can log in with it. */
export const unverifiable = ({ random }: Pick<ImportContext, 'random'>) => `!imported:${randomToken(random, 32)}`

/** bcrypt hashes as they are; an account that could not log in there must not be able to here. */
export function readHash(context: ImportContext, id: string, row: SourceRow, isLocal: boolean): string {
  const { report } = context
  const hash = readText(row['password_hash']) ?? ''
  if (hash === stubPasswordHash && !isLocal) return hash
  if (!/^\$2[aby]\$[0-9]{2}\$[./A-Za-z0-9]{53}$/.test(hash)) {
    report.tell('users', id, 'its password hash is none that can be verified: it cannot log in until a reset')
    return unverifiable(context)
  }
  const stored = hash.replace(/^\$2y\$/, '$2b$')
  if (isLocal && readText(row['username']) === 'admin' && compareSync('admin123', stored)) {
    report.note(`users ${id}: THE ACCOUNT admin HAD ITS WELL-KNOWN FIRST PASSWORD. It cannot log in until a reset`)
    return unverifiable(context)
  }
  return stored
}

/** Revoked tokens stay dead and live ones live: the time stays exactly as it is, unless it is in the future. */
export function readChange({ report, now }: ImportContext, id: string, row: SourceRow): number | null {
  const changedAt = readOptionalTime(row['password_changed_at'])
  if (changedAt === null || changedAt <= now) return changedAt
  report.tell('users', id, 'its password was changed in the future: set to now')
  return now
}
