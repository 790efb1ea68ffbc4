import {
  callerKeyLines,
  credentialContext,
  decrypt,
  encrypt,
  isEncrypted,
  mailContext,
  openidKeyContext,
  peerSecrets,
  prefixOf,
  secondFactorContext,
} from '@gatehouse/auth'
import { rewriteTexts, type StoredTexts } from '@gatehouse/database'
import { rotateKeys } from '@gatehouse/openid-keys'
import { systemClock } from '@gatehouse/runtime'
import { readVariables, settings } from '@gatehouse/service-kit'
import { CommandFailure } from '../failure.ts'
import { configured, encryptionKeyOf, openPresentDatabase, withDatabase } from '../instance.ts'
import type { Define, Invocation, Result } from '../invocation.ts'

type Row = Record<string, string | null>

/** All that ENCRYPTION_SECRET encrypts. Contract: 8, settings. */
const everything: readonly (StoredTexts & { contextOf: (row: Row) => string })[] = [
  {
    table: 'second_factors',
    key: ['user_id'],
    columns: ['secret'],
    contextOf: (row) => secondFactorContext(String(row['user_id'])),
  },
  {
    table: 'federation_credentials',
    key: ['user_id', 'origin'],
    columns: ['secret'],
    contextOf: (row) => credentialContext({ userId: String(row['user_id']), origin: String(row['origin']) }),
  },
  {
    table: 'mails',
    key: ['message_id'],
    columns: ['secret'],
    contextOf: (row) => mailContext(String(row['message_id'])),
  },
  {
    table: 'openid_keys',
    key: ['kid'],
    columns: ['private_key'],
    contextOf: (row) => openidKeyContext(String(row['kid'])),
  },
  ...peerSecrets,
]

/** `keys`, for secrets that deploy/make-secrets.sh did not make, and `encrypt`. docs/operate/rotate-secrets.md. */
export function defineSecretCommands(define: Define): void {
  const keys = 'Print CALLER_KEYS for the given INTERNAL_SECRET, INTERNAL_SECRET_PREVIOUS and OPERATOR_SECRET'
  define('keys', keys, printKeys)
  define(
    'encrypt',
    'Re-encrypt stored data with the current ENCRYPTION_SECRET. Run it after rotating the secret',
    encryptEverything,
  )
  define('rotate-openid', 'Rotate the keys that sign for applications. Applications notice nothing', rotateOpenidKeys)
}

async function printKeys({ environment }: Invocation): Promise<Result> {
  const shape = {
    INTERNAL_SECRET: settings.INTERNAL_SECRET.embedded,
    INTERNAL_SECRET_PREVIOUS: settings.INTERNAL_SECRET_PREVIOUS.kind,
    OPERATOR_SECRET: settings.OPERATOR_SECRET.kind.optional(),
  }
  const values = configured(() => readVariables(environment, shape))
  const present = (secret: string | undefined) => (secret === undefined ? [] : [secret])
  const ofGateway = [...present(values.INTERNAL_SECRET), ...values.INTERNAL_SECRET_PREVIOUS]
  const ofOperator = present(values.OPERATOR_SECRET)
  const lines = [...callerKeyLines('gateway', ofGateway), ...callerKeyLines('operator', ofOperator)]
  return { json: lines, text: lines.join('\n') }
}

async function rotateOpenidKeys({ environment }: Invocation): Promise<Result> {
  await using instance = await openPresentDatabase(environment)
  const encryptionKey = encryptionKeyOf(instance)
  const { signsFrom, retiredAt } = await withDatabase(instance.databaseUrl, (orm) =>
    rotateKeys({ orm, encryptionKey, clock: systemClock }),
  )
  const [signs, retired] = [signsFrom.toISOString(), retiredAt.toISOString()]
  return {
    json: { signsFrom: signs, retiredAt: retired },
    text: `New keys sign from ${signs}. The previous ones are published until ${retired}`,
  }
}

async function encryptEverything({ environment }: Invocation): Promise<Result> {
  await using instance = await openPresentDatabase(environment)
  const key = encryptionKeyOf(instance)
  const counts: Record<string, number> = {}
  let unreadable = 0
  await withDatabase(instance.databaseUrl, async (orm) => {
    for (const { contextOf: contextOfRow, ...texts } of everything) {
      /** Gives null for what no known secret encrypted. */
      const rewrite = (text: string, row: Row): string | null => {
        const context = contextOfRow(row)
        try {
          return encrypt(key, isEncrypted(text) ? decrypt(key, text, context) : text, context)
        } catch {
          return null
        }
      }
      const { changed, incomplete } = await rewriteTexts(orm, texts, { prefix: prefixOf(key), rewrite })
      counts[texts.table] = changed
      unreadable += incomplete
    }
  })
  const changes = Object.entries(counts).map(([table, rows]) => `${table} ${rows}`)
  const text = changes.join(', ')
  if (unreadable > 0) {
    const remedy = 'add the secret that encrypted them to ENCRYPTION_SECRET_PREVIOUS'
    throw new CommandFailure('refused', `${unreadable} rows cannot be read: ${remedy}. Encrypted: ${text}`)
  }
  return { json: { encrypted: counts }, text: `encrypted: ${text}` }
}
