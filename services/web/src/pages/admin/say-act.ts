import type { AuditEntry } from '@gatehouse/client'
import { hostOf } from '../../parts/host-of.ts'
import { sayDate } from '../../parts/say-moment.ts'

const acts: Readonly<Record<string, string>> = {
  'settings.changed': 'changed the settings',
  'user.deleted': 'deleted the user',
  'user.password-reset': 'reset the password of the user',
  'user.promoted': 'made an admin of the user',
  'user.demoted': 'took the admin’s rights from the user',
  'invite.created': 'made the invite',
  'invite.changed': 'changed the invite',
  'invite.revoked': 'revoked the invite',
  'invite.reinstated': 'reinstated the invite',
  'invite.deleted': 'deleted the invite',
  'peer.initiated': 'asked to peer with',
  'peer.revoked': 'revoked the peer',
  'approval-request.approved': 'let in the peer',
  'approval-request.denied': 'turned away',
}

/** An admin's act in words, what it was done to, and what else the log tells of it. */
export type SaidAct = { act: string; target: string; details: string }

/** Says an entry of the log; an act without words of its own reads as it is written. */
export function sayAct({ action, targetId, detail }: Pick<AuditEntry, 'action' | 'targetId' | 'detail'>): SaidAct {
  const { name, origin, ...others } = detail
  const named = typeof name === 'string' ? name : typeof origin === 'string' ? hostOf(origin) : targetId
  const details = Object.entries(others).map(([key, value]) => `${key}: ${sayValue(key, value)}`)
  return { act: acts[action] ?? action.replace(/[._-]+/g, ' '), target: named ?? '', details: details.join(', ') }
}

/** Times are the numbers whose name ends in At. */
function sayValue(key: string, value: unknown): string {
  if (value === null) return 'none'
  if (typeof value === 'number' && key.endsWith('At')) return sayDate(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}
