export { assertCallerCurrent, assertCurrent } from './assert-caller-current.ts'
export type { ActingAdmin, ActingCaller } from './assert-caller-current.ts'
export {
  ApprovalRequest,
  AttachProof,
  AuditEntry,
  FederationDelivery,
  FederationLimit,
  FederationNonce,
  FederationRegistry,
  FileRemoval,
  InstanceSettings,
  Invite,
  InviteRedemption,
  OutboxEvent,
  Peer,
  PeerReset,
  Presence,
  SessionNode,
  Upload,
  User,
  entities,
  stubPasswordHash,
} from './entities/index.ts'
export type { ReplicatedInstance } from './entities/index.ts'
export { loadInstanceSettings, nextId } from './instance.ts'
export { activeInvites, deriveInviteStatus, findInvite } from './invites/invite-status.ts'
export { lockActiveInvite, recordRedemption } from './invites/redeem-invite.ts'
export { operator, recordAudit } from './record-audit.ts'
export type { Actor, AuditRecord, Operator } from './record-audit.ts'
export {
  accountStateOf,
  accountStateProperties,
  deletedUsername,
  plainUserProperties,
  sanitizeUser,
} from './user-views.ts'
export type { PlainUser } from './user-views.ts'
