import { AuditEntrySchema } from './audit-entry.ts'
import { ApprovalRequestSchema, PeerSchema } from './federation.ts'
import { InstanceSettingsSchema } from './instance-settings.ts'
import { InviteRedemptionSchema, InviteSchema } from './invite.ts'
import { UploadSchema } from './upload.ts'
import { UserSchema } from './user.ts'

export { AuditEntry } from './audit-entry.ts'
export { ApprovalRequest, Peer } from './federation.ts'
export { InstanceSettings } from './instance-settings.ts'
export { Invite, InviteRedemption } from './invite.ts'
export { Upload } from './upload.ts'
export { User, stubPasswordHash } from './user.ts'

export const entities = [
  AuditEntrySchema,
  ApprovalRequestSchema,
  InstanceSettingsSchema,
  InviteRedemptionSchema,
  InviteSchema,
  PeerSchema,
  UploadSchema,
  UserSchema,
]
