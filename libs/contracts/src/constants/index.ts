/** Numbers, names and formats that the specification and the contract fix. Loads no other package. */
export * as closeCodes from './close-codes.ts'
export { closures } from './closures.ts'
export type { Closure } from './closures.ts'
export { avatarColors } from './avatar-colors.ts'
export type { AvatarColor } from './avatar-colors.ts'
export * as limits from './limits.ts'
export { upstreamLimits } from './limits.ts'
export { rateLimits } from './rate-limits.ts'
export type { RateLimit } from './rate-limits.ts'
export { normalizeHost, normalizeOrigin } from './origins.ts'
export { countCodePoints, fitsHash, isStorableText } from './text.ts'
export {
  baseUsername,
  isFederatedUsername,
  isHost,
  isLocalUsername,
  normalizeUsername,
  parseFederatedUsername,
} from './usernames.ts'
