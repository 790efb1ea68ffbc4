import type { AuditEntry } from '@gatehouse/client'
import { formatDateTime } from '../../components/format-time.ts'
import { hostOf } from '../../components/instance-address.ts'

const actionTexts: Readonly<Record<string, string>> = {
  'settings.changed': 'changed the settings',
  'user.deleted': 'deleted the user',
  'user.password-reset': 'reset the password of the user',
  'user.promoted': 'gave admin rights to the user',
  'user.demoted': 'removed the admin rights of the user',
  'invite.created': 'created the invite',
  'invite.changed': 'changed the invite',
  'invite.revoked': 'revoked the invite',
  'invite.reinstated': 'reinstated the invite',
  'invite.deleted': 'deleted the invite',
  'peer.initiated': 'sent a peering request to',
  'peer.revoked': 'revoked the peer',
  'peer.reset': 'reset the peer',
  'peer.forgotten': 'forgot the peer',
  'peer.rotated': 'rotated the secret of',
  'peer.changed': 'changed the rotation of the peer',
  'approval-request.approved': 'approved the peering request of',
  'approval-request.denied': 'denied the peering request of',
}

export type AuditEntryText = { action: string; target: string; details: string }

/** The texts of an audit log entry. An action without a text of its own is shown by its name. */
export function formatAuditEntry(entry: Pick<AuditEntry, 'action' | 'targetId' | 'detail'>): AuditEntryText {
  const { name, origin, ...others } = entry.detail
  const target = typeof name === 'string' ? name : typeof origin === 'string' ? hostOf(origin) : entry.targetId
  const details = Object.entries(others).map(([key, value]) => `${key}: ${formatDetail(key, value)}`)
  return {
    action: actionTexts[entry.action] ?? entry.action.replace(/[._-]+/g, ' '),
    target: target ?? '',
    details: details.join(', '),
  }
}

/** Numbers under a key that ends in `At` are times. */
function formatDetail(key: string, value: unknown): string {
  if (value === null) return 'none'
  if (typeof value === 'number' && key.endsWith('At')) return formatDateTime(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}
