import { AuditEntrySchema } from './audit-entry.ts'
import { ApprovalRequestSchema, FederationNonceSchema, PeerSchema } from './federation.ts'
import { InstanceSettingsSchema } from './instance-settings.ts'
import { InviteRedemptionSchema, InviteSchema } from './invite.ts'
import { OutboxEventSchema } from './outbox-event.ts'
import { PresenceSchema, SessionNodeSchema } from './presence.ts'
import { FileRemovalSchema, UploadSchema } from './upload.ts'
import { UserSchema } from './user.ts'

export { AuditEntry } from './audit-entry.ts'
export { ApprovalRequest, FederationNonce, Peer } from './federation.ts'
export { InstanceSettings } from './instance-settings.ts'
export { Invite, InviteRedemption } from './invite.ts'
export { OutboxEvent } from './outbox-event.ts'
export { Presence, SessionNode } from './presence.ts'
export { FileRemoval, Upload } from './upload.ts'
export { User, stubPasswordHash } from './user.ts'
export type { ReplicatedInstance } from './user.ts'

/** Every table that a service of this repository reads or writes through the ORM. */
export const entities = [
  AuditEntrySchema,
  ApprovalRequestSchema,
  FederationNonceSchema,
  FileRemovalSchema,
  InstanceSettingsSchema,
  InviteRedemptionSchema,
  InviteSchema,
  OutboxEventSchema,
  PeerSchema,
  PresenceSchema,
  SessionNodeSchema,
  UploadSchema,
  UserSchema,
]
