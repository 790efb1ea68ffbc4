import { importTable, importedId, type ImportContext } from './context.ts'
import type { SourceRow } from './source.ts'
import {
  clamp,
  isBeyondTime,
  readId,
  readInteger,
  readName,
  readOptionalTime,
  readOptionalTimestamp,
  readText,
  readTimestamp,
} from './values.ts'

const greatestInteger = 2_147_483_647n

export async function importInvites(context: ImportContext): Promise<void> {
  const { report, source, users } = context
  const lastRedeemed = new Map<string, number>()
  for (const row of source.rows('invite_redemptions')) {
    const [inviteId, at] = [readText(row['invite_id']) ?? '', readOptionalTime(row['redeemed_at']) ?? 0]
    lastRedeemed.set(inviteId, Math.max(at, lastRedeemed.get(inviteId) ?? at))
  }
  const invites = await importTable(context, 'invite_links', {
    to: 'invites',
    unique: [['id'], ['token']],
    map: (row) => {
      const [id, token] = [readId(row['id']), readText(row['token'])]
      if (id === null || !token) return 'its id or token cannot be read'
      const tell = (what: string) => report.tell('invites', id, what)
      if (!/^[A-Za-z0-9_-]{22}$/.test(token)) tell('its token has another form: it is kept')
      if (isBeyondTime(row['expires_at'])) tell('its expiry is beyond any date, so the invite never expires here')
      return {
        id,
        token,
        name: readName(row['name']) ?? '',
        ...readUses(row, tell),
        expires_at: isBeyondTime(row['expires_at']) ? null : readOptionalTimestamp(row['expires_at']),
        revoked_at: readOptionalTimestamp(row['revoked_at']),
        created_by: importedId(users, row['created_by']),
        created_at: readTimestamp(row['created_at'], id),
        last_redeemed_at: readOptionalTimestamp(lastRedeemed.get(id)),
      }
    },
  })
  await importTable(context, 'invite_redemptions', (row) => {
    const [id, invite] = [readId(row['id']), importedId(invites, row['invite_id'])]
    if (!id || !invite) return 'its invite is missing'
    return {
      id,
      invite_id: invite,
      user_id: importedId(users, row['user_id']),
      registrant_username: readText(row['registrant_username']) ?? '',
      redeemed_at: readTimestamp(row['redeemed_at'], id),
    }
  })
}

function readUses(row: SourceRow, tell: (what: string) => void): { max_uses: number | null; used_count: number } {
  const maxUses = readInteger(row['max_uses'])
  const used = Number(clamp(readInteger(row['used_count']) ?? 0n, 0n, greatestInteger))
  if (maxUses === null) return { max_uses: null, used_count: used }
  if (maxUses < 1n) return { max_uses: 1, used_count: 1 }
  if (maxUses > greatestInteger) tell('it admits more accounts than can be counted: set to the most')
  const most = Number(clamp(maxUses, 1n, greatestInteger))
  if (used > most) tell('the invite was used more often than allowed, so it counts as used up')
  return { max_uses: most, used_count: Math.min(used, most) }
}
