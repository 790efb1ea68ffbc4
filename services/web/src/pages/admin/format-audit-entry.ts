import type { AuditEntry } from '@gatehouse/client'
import type { AuditAction } from '@gatehouse/contracts/constants'
import { formatDateTime, formatNumber, hostOf } from '../../components/format.ts'
import { formatName, isolate, t, type Text } from '../../language/language.ts'

const actionTexts: Readonly<Record<AuditAction, Text>> = {
  'settings.changed': '{actor} changed the settings',
  'user.deleted': '{actor} deleted the user {target}',
  'user.password-reset': '{actor} reset the password of the user {target}',
  'user.promoted': '{actor} gave admin rights to the user {target}',
  'user.demoted': '{actor} removed the admin rights of the user {target}',
  'user.created': '{actor} created the user {target}',
  'user.sessions-ended': '{actor} ended all sessions of the user {target}',
  'user.recovery-link-created': '{actor} made a recovery link for the user {target}',
  'user.recovered': '{actor} used a recovery link',
  'user.suspended': '{actor} suspended the user {target}',
  'user.unsuspended': '{actor} unsuspended the user {target}',
  'user.suspended-by-home': '{actor} suspended its user {target}',
  'user.unsuspended-by-home': '{actor} unsuspended its user {target}',
  'user.second-factor-removed': '{actor} removed the second factor of the user {target}',
  'user.passkey-cloned': 'A copy of a passkey of {actor} was refused',
  'user.home-answer-refused': 'A password for {actor} was refused: its home instance answered for another user',
  'user.second-factor-blocked': '{actor} entered too many wrong codes of a second factor',
  'instance.imported': '{actor} imported another instance’s data',
  'invite.created': '{actor} created the invite {target}',
  'invite.changed': '{actor} changed the invite {target}',
  'invite.revoked': '{actor} revoked the invite {target}',
  'invite.reinstated': '{actor} reinstated the invite {target}',
  'invite.deleted': '{actor} deleted the invite {target}',
  'peer.initiated': '{actor} sent a peering request to {target}',
  'peer.initiation-refused': '{actor} was refused a peering with {target}',
  'peer.revoked': '{actor} revoked the peer {target}',
  'peer.reset': '{actor} reset the peer {target}',
  'peer.forgotten': '{actor} forgot the peer {target}',
  'peer.rotated': '{actor} rotated the secret of {target}',
  'peer.changed': '{actor} changed the rotation of the peer {target}',
  'peer.rechecked': '{actor} rechecked the peer {target}',
  'approval-request.approved': '{actor} approved the peering request of {target}',
  'approval-request.denied': '{actor} denied the peering request of {target}',
}

/** Without the names. */
export const formatAction = (action: AuditAction): string => t(actionTexts[action], { actor: '…', target: '…' })

/** `text` has the places {actor} and {target}. */
export function formatAuditEntry(
  entry: Pick<AuditEntry, 'action' | 'targetId' | 'detail'> & Partial<Pick<AuditEntry, 'targetName'>>,
) {
  const { name, origin, ...others } = entry.detail
  const target =
    typeof name === 'string' ? name : typeof origin === 'string' ? hostOf(origin) : (entry.targetName ?? entry.targetId)
  const told = Object.entries(others).map(([key, value]) => formatDetail(key, value))
  return {
    text:
      (actionTexts as Readonly<Record<string, Text>>)[entry.action] ??
      `{actor} ${entry.action.replace(/[._-]+/g, ' ')} {target}`,
    target: target ?? '',
    details: told.join(', '),
  }
}

const yesOrNo = { true: 'yes', false: 'no' } as const

const details: Readonly<Record<string, { label: Text; values: Readonly<Record<string, Text>> }>> = {
  maxUses: { label: 'Uses', values: { null: 'no limit' } },
  usedCount: { label: 'Used', values: {} },
  expiresAt: { label: 'Expires', values: { null: 'never' } },
  endedBy: { label: 'Before', values: { exhausted: 'used up', expired: 'expired', revoked: 'revoked' } },
  tokenRotated: { label: 'New link', values: yesOrNo },
  instanceName: { label: 'Instance name', values: {} },
  contact: { label: 'Contact', values: {} },
  description: { label: 'Description', values: {} },
  rules: { label: 'Rules', values: {} },
  accentColor: { label: 'Accent color', values: {} },
  logo: { label: 'Logo', values: {} },
  registrationOpen: { label: 'New accounts', values: { true: 'open', false: 'invite only', null: 'Server default' } },
  requireSecondFactorForAdmins: { label: 'Second factor for admins', values: { true: 'required', false: 'optional' } },
  federatedRegistrationOpen: { label: 'From other instances', values: { true: 'allowed', false: 'not allowed' } },
  autoAcceptPeering: { label: 'Accept peering requests automatically', values: yesOrNo },
  stubUpgradesNeedProof: { label: 'Ask for a proof before a known user gets an account', values: yesOrNo },
  status: { label: 'Status', values: { active: 'active', pending: 'pending', unreachable: 'unreachable' } },
  reason: { label: 'Reason', values: {} },
  homeUserId: { label: 'Id at home', values: {} },
  answeredId: { label: 'Id in the answer', values: {} },
  direction: { label: 'Asked by', values: { inbound: 'the other instance', outbound: 'a user of this instance' } },
}

/** Numbers under a key that ends in `At` are times. */
function formatDetail(key: string, value: unknown): string {
  const known = details[key]
  const text = known?.values[String(value)]
  return `${known ? t(known.label) : key}: ${text ? t(text) : formatValue(key, value)}`
}

function formatValue(key: string, value: unknown): string {
  if (value === null) return t('none')
  if (typeof value === 'number') return key.endsWith('At') ? formatDateTime(value) : formatNumber(value)
  return typeof value === 'string' ? isolate(formatName(shorten(value))) : JSON.stringify(value)
}

const shownCharacters = 200

/** The download has the whole text. */
function shorten(text: string): string {
  const characters = [...text]
  return characters.length > shownCharacters ? `${characters.slice(0, shownCharacters).join('')}…` : text
}
