/** The web app needs a text for each. Contract: 5, audit. */
export const auditActions = [
  'settings.changed',
  ...['user.deleted', 'user.password-reset', 'user.promoted', 'user.demoted', 'user.created', 'user.sessions-ended'],
  ...['user.recovery-link-created', 'user.recovered', 'user.suspended', 'user.unsuspended'],
  ...['user.suspended-by-home', 'user.unsuspended-by-home'],
  ...['user.second-factor-removed', 'user.second-factor-blocked', 'user.passkey-cloned'],
  ...['user.identity-linked', 'user.identity-unlinked', 'user.sessions-ended-by-provider'],
  'user.home-answer-refused',
  ...['registration.approved', 'registration.denied', 'registration.restored'],
  ...['application.created', 'application.changed', 'application.suspended', 'application.unsuspended'],
  ...['application.deleted', 'application.secret-renewed', 'openid.keys-rotated'],
  'instance.imported',
  ...['invite.created', 'invite.changed', 'invite.revoked', 'invite.reinstated', 'invite.deleted'],
  ...['peer.initiated', 'peer.initiation-refused', 'peer.revoked', 'peer.reset', 'peer.forgotten'],
  ...['peer.rotated', 'peer.changed', 'peer.rechecked', 'approval-request.approved', 'approval-request.denied'],
] as const
export type AuditAction = (typeof auditActions)[number]
