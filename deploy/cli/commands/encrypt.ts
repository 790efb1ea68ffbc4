import { decrypt, encrypt, isEncrypted, prefixOf, type EncryptionKey } from '@gatehouse/auth'
import { connectDatabase, rewriteTexts, type StoredTexts } from '@gatehouse/database'
import type { Command } from 'commander'
import { peerSecrets } from '../../../services/federation-fanout/src/peers/seal-secrets.ts'
import { credentialContext } from '../../../services/identity/src/operations/federation/federation-credentials.ts'
import { contextOf } from '../../../services/identity/src/operations/second-factor/judge-code.ts'
import { CommandFailure } from '../failure.ts'
import type { Define, Invocation, Result } from '../invocation.ts'
import { encryptionKeyOf, openPresentDatabase } from '../stopped-instance.ts'

type Row = Record<string, string | null>
type Encrypted = StoredTexts & { contextOf: (row: Row) => string }

/** All that ENCRYPTION_SECRET encrypts. Contract: 8. */
const everything: readonly Encrypted[] = [
  {
    table: 'second_factors',
    key: ['user_id'],
    columns: ['secret'],
    contextOf: (row) => contextOf(String(row['user_id'])),
  },
  {
    table: 'federation_credentials',
    key: ['user_id', 'origin'],
    columns: ['secret'],
    contextOf: (row) => credentialContext({ userId: String(row['user_id']), origin: String(row['origin']) }),
  },
  ...peerSecrets,
]

/** `encrypt`. docs/operators.md, "Rotating secrets". */
export function defineEncryptCommand(program: Command, define: Define): void {
  define(
    program
      .command('encrypt')
      .description(
        'Encrypts with ENCRYPTION_SECRET what previous ones encrypted, and what release 0.2.0 stored in plain. Run it once no process of that release runs',
      ),
    encryptEverything,
  )
}

async function encryptEverything({ environment }: Invocation): Promise<Result> {
  await using instance = await openPresentDatabase(environment)
  const key = encryptionKeyOf(instance)
  const orm = await connectDatabase({ url: instance.databaseUrl, applicationName: 'gatehouse-operator' })
  const counts: Record<string, number> = {}
  let unreadable = 0
  try {
    for (const stored of everything) {
      const { changed, left } = await rewriteTexts(orm, stored, {
        prefix: prefixOf(key),
        rewrite: rewriteFor(key, stored),
      })
      counts[stored.table] = changed
      unreadable += left
    }
  } finally {
    await orm.close()
  }
  const text = Object.entries(counts)
    .map(([table, rows]) => `${table} ${rows}`)
    .join(', ')
  if (unreadable > 0) {
    const remedy = 'name the secret that encrypted them in ENCRYPTION_SECRET_PREVIOUS'
    throw new CommandFailure('refused', `${unreadable} rows cannot be read: ${remedy}. Encrypted: ${text}`)
  }
  return { json: { encrypted: counts }, text: `encrypted: ${text}` }
}

/** Gives null for what no known secret encrypted. */
function rewriteFor(key: EncryptionKey, { contextOf: contextOfRow }: Encrypted) {
  return (text: string, row: Row): string | null => {
    const context = contextOfRow(row)
    try {
      return encrypt(key, isEncrypted(text) ? decrypt(key, text, context) : text, context)
    } catch {
      return null
    }
  }
}
