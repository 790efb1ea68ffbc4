export * as closeCodes from './close-codes.ts'
export { closures } from './closures.ts'
export type { Closure } from './closures.ts'
export { avatarColors } from './avatar-colors.ts'
export type { AvatarColor } from './avatar-colors.ts'
export { auditActions } from './audit-actions.ts'
export type { AuditAction } from './audit-actions.ts'
export * as limits from './limits.ts'
export { upstreamLimits } from './limits.ts'
export {
  fieldsWith,
  homeFields,
  lookupFields,
  pictureFields,
  profileFieldNames,
  profileFields,
} from './profile-fields.ts'
export type { ProfileField, ProfileFieldName } from './profile-fields.ts'
export { normalizeHost, normalizeOrigin } from './origins.ts'
export { countCodePoints, fitsHash, inOneLine, isStorableText } from './text.ts'
export {
  baseUsername,
  isFederatedUsername,
  isHost,
  isLocalUsername,
  normalizeUsername,
  parseFederatedUsername,
} from './usernames.ts'
