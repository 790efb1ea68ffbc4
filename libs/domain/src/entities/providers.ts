import type { ProviderPurpose } from '@gatehouse/contracts'
import { defineEntity, p, type InferEntity } from '@mikro-orm/core'
import { defineTable } from './table.ts'

// Issuer and subject name an identity. An email address or a name never does. Contract: 3, Identity providers.

/** An account at an identity provider with which the person logs in here. */
export const LinkedIdentity = defineEntity({
  name: 'LinkedIdentity',
  tableName: 'linked_identities',
  uniques: [{ name: 'linked_identities_issuer_subject', properties: ['issuer', 'subject'] }],
  properties: {
    id: p.bigint('string').primary().autoincrement(false),
    userId: p.bigint('string'),
    /** Its id in the file of providers. */
    provider: p.text(),
    issuer: p.text(),
    subject: p.text(),
    /** What the provider calls the person, for display. */
    name: p.text().nullable(),
    linkedAt: p.datetime(),
    lastUsedAt: p.datetime().nullable(),
  },
})

export type LinkedIdentity = InferEntity<typeof LinkedIdentity>

/** A browser that was sent to a provider, until it comes back. Hashes: SHA-256 in base64url. */
export const ProviderFlow = defineTable('ProviderFlow', 'provider_flows', {
  stateHash: p.text().primary(),
  /** Of the secret that only this browser holds. */
  cookieHash: p.text(),
  provider: p.text(),
  issuer: p.text(),
  purpose: p.text().$type<ProviderPurpose>(),
  /** Who links or confirms. */
  userId: p.bigint('string').nullable(),
  nonce: p.text(),
  codeVerifier: p.text(),
  /** A path of the web app. */
  redirect: p.text().nullable(),
  createdAt: p.datetime(),
  expiresAt: p.datetime(),
})
export type ProviderFlow = InferEntity<typeof ProviderFlow>

/** What a provider says of a person. Unusable names are null. */
export type ProviderClaims = { username: string | null; displayName: string | null; name: string | null }

/** A sign-in at a provider that a person may use here, once. */
export const ProviderTicket = defineTable('ProviderTicket', 'provider_tickets', {
  /** SHA-256 in base64url. */
  hash: p.text().primary(),
  provider: p.text(),
  issuer: p.text(),
  subject: p.text(),
  purpose: p.text().$type<ProviderPurpose>(),
  userId: p.bigint('string').nullable(),
  claims: p.json<ProviderClaims>(),
  /** When the person last authenticated at the provider. */
  authTime: p.datetime().nullable(),
  expiresAt: p.datetime(),
})
export type ProviderTicket = InferEntity<typeof ProviderTicket>

/** What counts once, of whatever kind: logout tokens by their issuer, proofs of work. */
export const UsedToken = defineTable('UsedToken', 'used_tokens', {
  issuer: p.text().primary(),
  token: p.text().primary(),
  expiresAt: p.datetime(),
})
