import { normalizeOrigin } from '@gatehouse/contracts'
import { double, importTable, type ImportContext } from './context.ts'
import type { SourceRow } from './source.ts'
import { clamp, readId, readInteger, readOptionalTime, readText, readTime, timestamp } from './values.ts'

const trusted = ['active', 'unreachable']
const ended = ['rejected', 'revoked', 'needs_attention']

/** Peers with their secrets. What any user could cause there is no peer here. */
export async function importPeers(context: ImportContext): Promise<void> {
  await importPeerRows(context)
  await importRequests(context)
}

/** Of several rows of one origin the trusted one is its peer, then the latest. */
function choosePeers({ source }: ImportContext): ReadonlyMap<string, { id: unknown }> {
  const origins = new Map<string, { status: string; created: number; id: unknown }>()
  const rank = ({ status, created }: { status: string; created: number }) =>
    (trusted.includes(status) ? 1e15 : 0) + created
  for (const row of source.rows('federation_peers')) {
    const origin = originOf(row['origin'])
    const entry = {
      status: readText(row['status']) ?? '',
      created: readOptionalTime(row['created_at']) ?? 0,
      id: row['id'],
    }
    const known = origin && origins.get(origin)
    if (origin && (!known || rank(entry) > rank(known))) origins.set(origin, entry)
  }
  return origins
}

async function importPeerRows(context: ImportContext): Promise<void> {
  const { report } = context
  const origins = choosePeers(context)
  const used = new Set<string>()
  await importTable(context, {
    from: 'federation_peers',
    to: 'peers',
    columns: [
      ...['id', 'origin', 'host', 'secret', 'status', 'instance_name', 'instance_id', 'created_at', 'activated_at'],
      ...['revoked_at', 'admin_decided', 'attempts', 'failed_deliveries', 'refused_deliveries', 'rotated_at'],
      ...['next_rotation_at', 'auto_rotate_interval_days', 'profile_checkpoint'],
    ],
    key: (row) => row['origin'],
    map: (row) => {
      const origin = originOf(row['origin'])
      const status = readText(row['status']) ?? ''
      if (origin === null) return 'its origin cannot be read'
      if (new URL(origin).hostname === context.domain) return 'it is this instance itself'
      if (origins.get(origin)?.id !== row['id']) return 'another row is the same origin'
      const secret = readText(row['pending_hmac_secret']) ?? readText(row['hmac_secret'])
      const isActive = trusted.includes(status)
      if (!isActive && !ended.includes(status)) return `it is ${status}: an admin can initiate it again`
      if (isActive && !secret) return 'it has no secret'
      if (status === 'needs_attention')
        report.tell('peers', origin, `needed attention (${readText(row['needs_attention_reason'])}): revoked here`)
      const id = readId(row['id']) ?? freshId(context)
      if (used.has(id)) return 'another peer has its id'
      used.add(id)
      return { id, origin, ...peerOf(context, row, { id, origin, secret: isActive ? secret : null }) }
    },
  })
}

type FoundPeer = { id: string; origin: string; secret: string | null }

/** A peer without a secret of its own is an ended one; its new one is known to nobody. */
function peerOf({ random, now }: ImportContext, row: SourceRow, { id, origin, secret }: FoundPeer) {
  const created = timestamp(readTime(row['created_at'], id))
  const days = Number(clamp(readInteger(row['auto_rotate_interval_days']) ?? 90n, 1n, 365n))
  const isActive = secret !== null
  return {
    host: new URL(origin).hostname,
    secret: secret ?? Buffer.from(random.bytes(32)).toString('hex'),
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

/** Offers of other instances that wait for an admin. */
async function importRequests(context: ImportContext): Promise<void> {
  const { report, now } = context
  const known = new Set<string>()
  await importTable(context, {
    from: 'peer_approval_requests',
    to: 'approval_requests',
    columns: [
      ...['id', 'source_origin', 'secret', 'instance_name', 'status', 'created_at', 'direction', 'expires_at'],
      'attempts',
    ],
    key: (row) => originOf(row['origin']),
    map: (row) => {
      const [origin, secret] = [originOf(row['origin']), readText(row['hmac_secret'])]
      const expiresAt = readOptionalTime(row['expires_at']) ?? now
      if ((readText(row['direction']) ?? 'inbound') !== 'inbound' || !secret || origin === null)
        return 'a wish of users here'
      if (known.has(origin)) return double
      if (readText(row['status']) !== 'pending' || expiresAt < now) return 'decided or expired'
      known.add(origin)
      const advice = 'after approving, initiate it too: it waits for a token that was not kept'
      report.tell('approval_requests', origin, advice)
      return {
        id: readId(row['id']) ?? freshId(context),
        source_origin: origin,
        secret,
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

function originOf(value: unknown): string | null {
  const text = readText(value)?.trim() ?? ''
  return normalizeOrigin(text.includes('://') ? text : `https://${text}`)
}

let made = 0n
/** An id of its own for what had none that can be kept. */
function freshId({ now }: ImportContext): string {
  made += 1n
  return String(((BigInt(now) - 1_704_067_200_000n) << 22n) | (made % 4096n))
}
