import { credentialContext, encrypt } from '@gatehouse/auth'
import { parseOrigin } from '@gatehouse/contracts'
import { stubPasswordHash } from '@gatehouse/domain'
import { randomToken } from '@gatehouse/runtime'
import { compareSync } from 'bcrypt'
import { type ImportContext, importTable, importedId } from './context.ts'
import type { SourceRow } from './source.ts'
import { readOptionalTime, readOptionalTimestamp, readText, timestamp } from './values.ts'

/** Of no password: nobody can log in with it. */
export const unverifiable = ({ random }: Pick<ImportContext, 'random'>) => `!imported:${randomToken(random, 32)}`

/** bcrypt hashes as they are; an account that could not log in there must not be able to here. */
export function readHash(context: ImportContext, id: string, row: SourceRow, isLocal: boolean): string {
  const { report } = context
  const hash = readText(row['password_hash']) ?? ''
  if (hash === stubPasswordHash && !isLocal) return hash
  // A cost of 31 would keep the hasher for days.
  if (!/^\$2[aby]\$(0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}$/.test(hash)) {
    report.tell('users', id, 'the password hash has an unknown format: the user cannot log in until a password reset')
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
  report.tell('users', id, 'the time of the last password change is in the future, so it was set to now')
  return now
}

/** Without them all accounts of these users elsewhere refuse. They stand in plain there. README.md here. */
export async function importCredentials(context: ImportContext): Promise<void> {
  const { encryptionKey, liveUsers, now } = context
  await importTable(context, 'user_federation_credentials', {
    to: 'federation_credentials',
    unique: [['user_id', 'origin']],
    map: (row) => {
      const userId = importedId(liveUsers, row['user_id'])
      const origin = parseOrigin(readText(row['origin']) ?? '')
      const secret = readText(row['secret'])
      if (userId === null) return 'its user is gone'
      if (origin === null || !secret) return 'its origin or its password cannot be read'
      return {
        user_id: userId,
        origin,
        secret: encrypt(encryptionKey, secret, credentialContext({ userId, origin })),
        created_at: timestamp(readOptionalTime(row['created_at']) ?? now),
        provisioned_at: readOptionalTimestamp(row['provisioned_at']),
      }
    },
  })
}
