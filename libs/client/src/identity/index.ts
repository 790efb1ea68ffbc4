/** `@gatehouse/client/identity`: usable without a client. */
export { parseFederatedUsername } from '@gatehouse/contracts/constants'

export { canonicalUserKey, isDeliveryFromHome, isFederationGlobeApplicable } from './federation-rules.ts'
export { canonicalUserMatch, createIdentity } from './identity.ts'
export type { Identity, SelfIds } from './identity.ts'
export { normalizeOriginToHost } from './known-user.ts'
export type { KnownUser } from './known-user.ts'
