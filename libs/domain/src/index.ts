export { accountStateOf } from './account-state.ts'
export {
  ApprovalRequest,
  AuditEntry,
  InstanceSettings,
  Invite,
  InviteRedemption,
  Peer,
  Upload,
  User,
  entities,
  stubPasswordHash,
} from './entities/index.ts'
export { loadInstanceSettings } from './instance-settings.ts'
export { activeInvites, deriveInviteStatus } from './invites/derive-invite-status.ts'
export { findInvite } from './invites/find-invite.ts'
export { inviteUnavailable, redeemInvite } from './invites/redeem-invite.ts'
export * from './record-audit.ts'
export { nextId } from './next-id.ts'
export * from './user-facts.ts'
export * from './user-reply.ts'
