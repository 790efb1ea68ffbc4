import { AuditEntrySchema } from './audit-entry.ts'
import {
  AttachProofSchema,
  FederationDeliverySchema,
  FederationLimitSchema,
  FederationNonceSchema,
  PeerResetSchema,
} from './federation-records.ts'
import { ApprovalRequestSchema, PeerSchema } from './federation.ts'
import { FederationRegistrySchema } from './federation-registry.ts'
import { InstanceSettingsSchema } from './instance-settings.ts'
import { InviteRedemptionSchema, InviteSchema } from './invite.ts'
import { OutboxEventSchema } from './outbox-event.ts'
import { PresenceSchema, SessionNodeSchema } from './presence.ts'
import { FileRemovalSchema, UploadSchema } from './upload.ts'
import { UserSchema } from './user.ts'

export { AuditEntry } from './audit-entry.ts'
export { AttachProof, FederationDelivery, FederationLimit, FederationNonce, PeerReset } from './federation-records.ts'
export { ApprovalRequest, Peer } from './federation.ts'
export { FederationRegistry } from './federation-registry.ts'
export { InstanceSettings } from './instance-settings.ts'
export { Invite, InviteRedemption } from './invite.ts'
export { OutboxEvent } from './outbox-event.ts'
export { Presence, SessionNode } from './presence.ts'
export { FileRemoval, Upload } from './upload.ts'
export { User, stubPasswordHash } from './user.ts'
export type { ReplicatedInstance } from './user.ts'

export const entities = [
  AuditEntrySchema,
  ApprovalRequestSchema,
  AttachProofSchema,
  FederationDeliverySchema,
  FederationLimitSchema,
  FederationNonceSchema,
  FederationRegistrySchema,
  FileRemovalSchema,
  InstanceSettingsSchema,
  InviteRedemptionSchema,
  InviteSchema,
  OutboxEventSchema,
  PeerResetSchema,
  PeerSchema,
  PresenceSchema,
  SessionNodeSchema,
  UploadSchema,
  UserSchema,
]
