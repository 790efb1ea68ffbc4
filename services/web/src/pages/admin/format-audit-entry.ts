import type { AuditEntry } from '@gatehouse/client'
import type { AuditAction } from '@gatehouse/contracts/constants'
import { formatDateTime, formatNumber, hostOf } from '../../components/format.ts'
import { formatName, isolate, t, type Text } from '../../language/language.ts'

const actionTexts: Readonly<Record<AuditAction, Text>> = {
  'settings.changed': '{actor} changed the settings',
  'user.deleted': '{actor} deleted user {target}',
  'user.password-reset': '{actor} reset the password of user {target}',
  'user.promoted': '{actor} made user {target} an admin',
  'user.demoted': '{actor} removed user {target} as admin',
  'user.created': '{actor} created user {target}',
  'user.sessions-ended': '{actor} logged user {target} out everywhere',
  'user.recovery-link-created': '{actor} created a password reset link for user {target}',
  'user.recovered': '{actor} reset their password with a link',
  'user.suspended': '{actor} suspended user {target}',
  'user.unsuspended': '{actor} unsuspended user {target}',
  'user.suspended-by-home': '{actor} suspended its user {target}',
  'user.unsuspended-by-home': '{actor} unsuspended its user {target}',
  'user.second-factor-removed': '{actor} turned off two-factor for user {target}',
  'user.passkey-cloned': 'A cloned passkey for {actor} was blocked',
  'user.identity-linked': '{actor} linked an account of an identity provider',
  'user.identity-unlinked': '{actor} unlinked an account of an identity provider',
  'user.sessions-ended-by-provider': 'The identity provider logged {actor} out everywhere',
  'user.home-answer-refused': '{actor} couldn’t log in because the home instance confirmed a different user',
  'user.second-factor-blocked': '{actor} entered too many wrong authentication codes',
  'registration.approved': '{actor} approved the registration of {target}',
  'registration.denied': '{actor} denied a registration',
  'registration.restored': '{actor} restored a denied registration',
  'application.created': '{actor} added application {target}',
  'application.changed': '{actor} edited application {target}',
  'application.suspended': '{actor} suspended application {target}',
  'application.unsuspended': '{actor} unsuspended application {target}',
  'application.deleted': '{actor} deleted application {target}',
  'application.secret-renewed': '{actor} created a new secret for application {target}',
  'openid.keys-rotated': '{actor} rotated the keys that sign for applications',
  'instance.imported': '{actor} imported data from another instance',
  'invite.created': '{actor} created invite {target}',
  'invite.changed': '{actor} edited invite {target}',
  'invite.revoked': '{actor} revoked invite {target}',
  'invite.reinstated': '{actor} reinstated invite {target}',
  'invite.deleted': '{actor} deleted invite {target}',
  'peer.initiated': '{actor} sent a peering request to {target}',
  'peer.initiation-refused': '{target} denied a peering request from {actor}',
  'peer.revoked': '{actor} ended the peering with {target}',
  'peer.reset': '{actor} reset the peering with {target}',
  'peer.forgotten': '{actor} removed {target} from the list of peers',
  'peer.rotated': '{actor} rotated the secret for {target}',
  'peer.changed': '{actor} changed how often the secret for {target} rotates',
  'peer.rechecked': '{actor} checked the peer {target} again',
  'approval-request.approved': '{actor} approved the peering request from {target}',
  'approval-request.denied': '{actor} denied the peering request from {target}',
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
  const formatted = Object.entries(others).map(([key, value]) => formatDetail(key, value))
  return {
    text:
      (actionTexts as Readonly<Record<string, Text>>)[entry.action] ??
      `{actor} ${entry.action.replace(/[._-]+/g, ' ')} {target}`,
    target: target ?? '',
    details: formatted.join(', '),
  }
}

const yesOrNo = { true: 'yes', false: 'no' } as const

const details: Readonly<Record<string, { label: Text; values: Readonly<Record<string, Text>> }>> = {
  maxUses: { label: 'Maximum uses', values: { null: 'no limit' } },
  usedCount: { label: 'Used', values: {} },
  expiresAt: { label: 'Expires', values: { null: 'never' } },
  endedBy: { label: 'Previous status', values: { exhausted: 'used up', expired: 'expired', revoked: 'revoked' } },
  tokenRotated: { label: 'New link', values: yesOrNo },
  instanceName: { label: 'Instance name', values: {} },
  contact: { label: 'Contact', values: {} },
  description: { label: 'Description', values: {} },
  rules: { label: 'Rules', values: {} },
  accentColor: { label: 'Accent color', values: {} },
  reservedUsernames: { label: 'Reserved usernames', values: {} },
  proofOfWork: { label: 'Proof of work', values: { off: 'off', registration: 'for registrations' } },
  memberInvites: { label: 'Invites by members', values: {} },
  logo: { label: 'Logo', values: {} },
  registrationOpen: { label: 'New accounts', values: { true: 'open', false: 'invite only', null: 'Server default' } },
  requireSecondFactorForAdmins: { label: 'Two-factor for admins', values: { true: 'required', false: 'optional' } },
  federatedRegistrationOpen: { label: 'From other instances', values: { true: 'allowed', false: 'not allowed' } },
  autoAcceptPeering: { label: 'Accept peering requests automatically', values: yesOrNo },
  approvalRequired: { label: 'Approve new accounts', values: yesOrNo },
  askReason: { label: 'Ask why people want to join', values: yesOrNo },
  openidEnabled: { label: 'Log in to applications with this instance', values: yesOrNo },
  denialBlockHours: { label: 'Hours that a network is blocked', values: {} },
  block: { label: 'Network blocked', values: yesOrNo },
  stubUpgradesNeedProof: { label: 'Always verify users with their home instance', values: yesOrNo },
  status: { label: 'Status', values: { active: 'active', pending: 'pending', unreachable: 'unreachable' } },
  reason: { label: 'Reason', values: {} },
  homeUserId: { label: 'ID at the home instance', values: {} },
  answeredId: { label: 'ID in the response', values: {} },
  direction: { label: 'Requested by', values: { inbound: 'the other instance', outbound: 'a user here' } },
}

/** Numbers under a key that ends in `At` are times. */
function formatDetail(key: string, value: unknown): string {
  const detailText = details[key]
  const text = detailText?.values[String(value)]
  return `${detailText ? t(detailText.label) : key}: ${text ? t(text) : formatValue(key, value)}`
}

function formatValue(key: string, value: unknown): string {
  if (value === null) return t('none')
  if (Array.isArray(value)) return formatValue(key, value.join(' '))
  if (typeof value === 'number') return key.endsWith('At') ? formatDateTime(value) : formatNumber(value)
  return typeof value === 'string' ? isolate(formatName(shorten(value))) : JSON.stringify(value)
}

const shownCharacters = 200

/** The download has the whole text. */
function shorten(text: string): string {
  const characters = [...text]
  return characters.length > shownCharacters ? `${characters.slice(0, shownCharacters).join('')}…` : text
}
