import { sealPeerSecret } from '@gatehouse/auth'
import { limits, normalizeOrigin } from '@gatehouse/contracts'
import { importTable, type ImportContext } from './context.ts'
import type { SourceRow } from './source.ts'
import { clamp, readId, readInteger, readOptionalTime, readText, readTimestamp, timestamp } from './values.ts'

const trusted = ['active', 'unreachable']
const ended = ['rejected', 'revoked', 'needs_attention']

/** A peering that any user could cause is left out. */
export async function importPeers(context: ImportContext): Promise<void> {
  const { report, now } = context
  const chosen = choosePeers(context)
  await importTable(context, 'federation_peers', {
    to: 'peers',
    map: (row) => {
      const origin = originOf(row['origin'])
      const status = readText(row['status']) ?? ''
      if (origin === null) return 'its origin cannot be read'
      if (new URL(origin).hostname === context.domain) return 'it is this instance itself'
      if (chosen.get(origin)?.id !== row['id']) return 'another row is the same origin'
      const secret = readText(row['pending_hmac_secret']) ?? readText(row['hmac_secret'])
      const isActive = trusted.includes(status)
      if (!isActive && !ended.includes(status)) return `it is ${status}: an admin can initiate it again`
      if (isActive && !secret) return 'it has no secret'
      const reason = readText(row['status_reason'] ?? row['needs_attention_reason'])
      if (status === 'needs_attention')
        report.tell('peers', origin, `needed attention (${reason}), so it was revoked here`)
      return peerOf(context, row, { origin, secret: isActive ? secret : null })
    },
  })
  await importTable(context, 'peer_approval_requests', {
    to: 'approval_requests',
    unique: [['source_origin']],
    map: (row) => {
      const [origin, secret] = [originOf(row['origin']), readText(row['hmac_secret'])]
      const expiresAt = readOptionalTime(row['expires_at']) ?? now
      if ((readText(row['direction']) ?? 'inbound') !== 'inbound' || !secret || origin === null)
        return 'a wish of users here'
      if ((readText(row['status']) ?? 'pending') !== 'pending' || expiresAt < now) return 'decided or expired'
      const remedy = 'after approving, initiate it too: it waits for a token that was not kept'
      report.tell('approval_requests', origin, remedy)
      return {
        id: readId(row['id']) ?? freshId(context),
        source_origin: origin,
        secret: sealPeerSecret(context.encryptionKey, secret),
        instance_name: readText(row['instance_name']),
        status: 'pending',
        created_at: timestamp(readOptionalTime(row['requested_at']) ?? now),
        direction: 'inbound',
        expires_at: timestamp(expiresAt),
        attempts: 0,
      }
    },
  })
}

/** Of one origin the trusted row counts, then the latest. */
function choosePeers({ source }: ImportContext): ReadonlyMap<string, { id: unknown }> {
  const chosen = new Map<string, { rank: number; id: unknown }>()
  for (const row of source.rows('federation_peers')) {
    const origin = originOf(row['origin'])
    const isTrusted = trusted.includes(readText(row['status']) ?? '')
    const rank = (isTrusted ? 1e15 : 0) + (readOptionalTime(row['created_at']) ?? 0)
    if (origin && rank > (chosen.get(origin)?.rank ?? -Infinity)) chosen.set(origin, { rank, id: row['id'] })
  }
  return chosen
}

/** Without a secret the peering has ended. Its new secret is known to nobody. */
function peerOf(context: ImportContext, row: SourceRow, { origin, secret }: { origin: string; secret: string | null }) {
  const { random, now, encryptionKey } = context
  const id = readId(row['id']) ?? freshId(context)
  const created = readTimestamp(row['created_at'], id)
  const days = Number(clamp(readInteger(row['auto_rotate_interval_days']) ?? 90n, 1n, 365n))
  const isActive = secret !== null
  return {
    id,
    origin,
    host: new URL(origin).hostname,
    secret: sealPeerSecret(encryptionKey, secret ?? Buffer.from(random.bytes(32)).toString('hex')),
    status: isActive ? 'active' : 'revoked',
    instance_name: readText(row['instance_name']),
    instance_id: readText(row['peer_instance_id']),
    created_at: created,
    activated_at: isActive ? created : null,
    revoked_at: isActive ? null : timestamp(now),
    admin_decided: true,
    attempts: 0,
    failed_deliveries: 0,
    refused_deliveries: 0,
    rotated_at: isActive ? timestamp(now) : null,
    next_rotation_at: isActive ? timestamp(now + days * 86_400_000) : null,
    auto_rotate_interval_days: days,
    profile_checkpoint: '0',
  }
}

function originOf(value: unknown): string | null {
  const text = readText(value)?.trim() ?? ''
  return normalizeOrigin(text.includes('://') ? text : `https://${text}`)
}

let idCount = 0n
function freshId({ now }: ImportContext): string {
  idCount += 1n
  return String((BigInt(now - limits.idEpochMs) << 22n) | (idCount % 4096n))
}
