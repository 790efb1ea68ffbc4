import { defineEntity, p } from '@mikro-orm/core'

const PasskeySchema = defineEntity({
  name: 'Passkey',
  tableName: 'passkeys',
  properties: {
    id: p.bigint('string').primary().autoincrement(false),
    userId: p.bigint('string'),
    /** The authenticator's, in base64url. */
    credentialId: p.text().unique(),
    /** COSE, in base64url. */
    publicKey: p.text(),
    /** How often it signed. Many authenticators do not count: 0. */
    counter: p.bigint('number'),
    name: p.text(),
    createdAt: p.datetime(),
    lastUsedAt: p.datetime().nullable(),
  },
})

/** Contract: 3, Passkeys. */
export class Passkey extends PasskeySchema.class {
  /** False: it signed this often before, so there are two of it. `now` in milliseconds since the epoch. */
  use(counter: number, now: number): boolean {
    if (counter <= this.counter && this.counter + counter > 0) return false
    this.counter = counter
    this.lastUsedAt = new Date(now)
    return true
  }
}
PasskeySchema.setClass(Passkey)

/** Challenges that were answered: each counts once. */
export const PasskeyChallengeSchema = defineEntity({
  name: 'PasskeyChallenge',
  tableName: 'passkey_challenges',
  properties: {
    hash: p.text().primary(),
    expiresAt: p.datetime(),
  },
})
