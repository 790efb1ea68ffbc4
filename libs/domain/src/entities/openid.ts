import type { accessTokenForms, ApplicationType } from '@gatehouse/contracts'
import { defineEntity, p, type InferEntity } from '@mikro-orm/core'
import { defineTable } from './table.ts'

// Revoking a session ends the grants it allowed without a write: reads compare the times. Contract: 3, Applications.

/** What logs its users in with accounts of this instance. Its id is its client_id. */
export const Application = defineTable('Application', 'applications', {
  id: p.bigint('string').primary().autoincrement(false),
  name: p.text(),
  type: p.text().$type<ApplicationType>(),
  redirectUris: p.json<string[]>(),
  postLogoutRedirectUris: p.json<string[]>(),
  backchannelLogoutUri: p.text().nullable(),
  signalsUri: p.text().nullable(),
  skipConsent: p.boolean(),
  accessTokens: p.text().$type<(typeof accessTokenForms)[number]>(),
  /** Devices get a code that a person types. */
  deviceGrant: p.boolean().default(false),
  /** Whose applications know the people by the same `sub`. Null: it is the account's id. Chosen once. */
  sector: p.text().nullable(),
  /** SHA-256 in base64url. */
  secretHash: p.text().nullable(),
  previousSecretHash: p.text().nullable(),
  previousSecretUntil: p.datetime().nullable(),
  suspendedAt: p.datetime().nullable(),
  createdAt: p.datetime(),
  createdBy: p.bigint('string').nullable(),
})
export type Application = InferEntity<typeof Application>

/** A row of the library: a grant, a code, a token, a session of a flow. Ids are stored hashed. */
export const OpenidRow = defineEntity({
  name: 'OpenidRow',
  tableName: 'openid_rows',
  properties: {
    model: p.text().primary(),
    idHash: p.text().primary(),
    payload: p.json<Record<string, unknown>>(),
    /** Of the grant by which a row is good. */
    grantId: p.text().nullable(),
    accountId: p.bigint('string').nullable(),
    applicationId: p.bigint('string').nullable(),
    /** Of a grant: the `iat` of the session token with which the person allowed it, in seconds. */
    tokenIssuedAt: p.bigint('string').nullable(),
    uid: p.text().nullable(),
    userCodeHash: p.text().nullable(),
    consumedAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    expiresAt: p.datetime(),
  },
})
export type OpenidRow = InferEntity<typeof OpenidRow>

/** With which the instance signs for applications; `subjects` makes their pairwise `sub`, and never rotates. */
export const OpenidKey = defineTable('OpenidKey', 'openid_keys', {
  kid: p.text().primary(),
  algorithm: p.text().$type<'EdDSA' | 'RS256' | 'subjects'>(),
  /** A JWK. Encrypted. */
  privateKey: p.text(),
  createdAt: p.datetime(),
  /** Published before. */
  signsFrom: p.datetime(),
  /** Published until then. */
  retiredAt: p.datetime().nullable(),
})
export type OpenidKey = InferEntity<typeof OpenidKey>

/** What a person allowed an application, until one of both ends it. */
export const ApplicationConsent = defineTable('ApplicationConsent', 'application_consents', {
  accountId: p.bigint('string').primary().autoincrement(false),
  applicationId: p.bigint('string').primary().autoincrement(false),
  scopes: p.json<string[]>(),
  grantedAt: p.datetime(),
  lastUsedAt: p.datetime().nullable(),
})
export type ApplicationConsent = InferEntity<typeof ApplicationConsent>

export type NoticeChannel = 'backchannel' | 'signals'

/** What an application has still to be told, in the order in which it happened. */
export const ApplicationNotice = defineEntity({
  name: 'ApplicationNotice',
  tableName: 'application_notices',
  uniques: [{ name: 'application_notices_once', properties: ['applicationId', 'channel', 'eventId'] }],
  properties: {
    id: p.bigint('string').primary().autoincrement(false).defaultRaw('next_snowflake()'),
    applicationId: p.bigint('string'),
    channel: p.text().$type<NoticeChannel>(),
    /** Of the event in the outbox, or of a verification. */
    eventId: p.text(),
    event: p.json<Record<string, unknown>>(),
    attempts: p.integer().default(0),
    /** When it happened. */
    createdAt: p.datetime(),
    /** Null: it waits. What was sent stays, so that an event that comes again is not told again. */
    sentAt: p.datetime().nullable(),
    /** It is dropped then. */
    expiresAt: p.datetime(),
  },
})
export type ApplicationNotice = InferEntity<typeof ApplicationNotice>

/** How telling an application goes. */
export const ApplicationReceiver = defineTable('ApplicationReceiver', 'application_receivers', {
  applicationId: p.bigint('string').primary().autoincrement(false),
  channel: p.text().$type<NoticeChannel>().primary(),
  /** Not before. */
  nextAt: p.datetime().nullable(),
  /** A replica is telling it. */
  leasedUntil: p.datetime().nullable(),
  lastDeliveredAt: p.datetime().nullable(),
  failingSince: p.datetime().nullable(),
  lastError: p.text().nullable(),
})
export type ApplicationReceiver = InferEntity<typeof ApplicationReceiver>
