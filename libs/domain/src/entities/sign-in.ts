import type { SignInMethod } from '@gatehouse/contracts'
import { p } from '@mikro-orm/core'
import { defineTable } from './table.ts'

/** Written with each token, but not by change-password and sessions/end. Contract: 3, Sign-ins. */
export const SignIn = defineTable('SignIn', 'sign_ins', {
  userId: p.bigint('string').primary(),
  id: p.bigint('string').primary().defaultRaw('next_snowflake()'),
  signedInAt: p.datetime(),
  method: p.text().$type<SignInMethod>(),
  /** A /24 or /48. */
  network: p.text(),
  /** Browser and system. Null: unknown. */
  device: p.text().nullable(),
  /** Of a renewal: the login of the session that it renews. Null: it is not known, or this is no renewal. */
  loggedInAt: p.datetime().nullable(),
})

const PasskeySchema = defineTable('Passkey', 'passkeys', {
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
})

/** What an authenticator says of a key when it signs. */
type Use = { counter: number; isBackedUp: boolean }

/** The counter never falls, because an earlier one shows a cloned key. Contract: 3, Passkeys. */
export class Passkey extends PasskeySchema.class {
  /**
   * False: it signed this often before, so there are two of it. Devices that share a backed-up key may count each for itself.
   * `now` in milliseconds since the epoch.
   */
  use({ counter, isBackedUp }: Use, now: number): boolean {
    if (this.hasCounted(counter) && !isBackedUp) return false
    this.counter = Math.max(this.counter, counter)
    this.lastUsedAt = new Date(now)
    return true
  }

  hasCounted(counter: number): boolean {
    return counter <= this.counter && this.counter + counter > 0
  }
}
PasskeySchema.setClass(Passkey)

/** Challenges that were answered: each counts once. */
export const PasskeyChallenge = defineTable('PasskeyChallenge', 'passkey_challenges', {
  hash: p.text().primary(),
  expiresAt: p.datetime(),
})

const minute = 60_000
const waitsMs = 10 * minute
const failuresMax = 10
const failuresWithinMs = 15 * minute
const blockedMs = 15 * minute

const SecondFactorSchema = defineTable('SecondFactor', 'second_factors', {
  userId: p.bigint('string').primary().autoincrement(false),
  /** Encrypted. */
  secret: p.text(),
  createdAt: p.datetime(),
  /** Null: it waits. */
  confirmedAt: p.datetime().nullable(),
  /** Of the last code that was taken, in steps of 30 s since the epoch. */
  usedStep: p.bigint('number').nullable(),
  /** Hashes of those that are left. */
  recoveryCodes: p.json<string[]>().defaultRaw("'[]'"),
  /** When wrong codes came, in milliseconds since the epoch, oldest first. */
  failures: p.json<number[]>().defaultRaw("'[]'"),
  blockedUntil: p.datetime().nullable(),
})

/** Times in milliseconds since the epoch. Contract: 3, Second factor. */
export class SecondFactor extends SecondFactorSchema.class {
  waitsAt(now: number): boolean {
    return !this.confirmedAt && now < this.createdAt.getTime() + waitsMs
  }

  confirm(confirmation: { step: number; recoveryCodes: string[]; now: number }): void {
    this.confirmedAt = new Date(confirmation.now)
    this.usedStep = confirmation.step
    this.recoveryCodes = confirmation.recoveryCodes
    this.failures = []
    this.blockedUntil = null
  }

  /** False: a code of this step or of a later one was taken before. */
  useStep(step: number): boolean {
    if (step <= (this.usedStep ?? -1)) return false
    this.usedStep = step
    return true
  }

  useRecoveryCode(hash: string): boolean {
    const otherCodes = this.recoveryCodes.filter((one) => one !== hash)
    if (otherCodes.length === this.recoveryCodes.length) return false
    this.recoveryCodes = otherCodes
    return true
  }

  /** 0: it is not blocked. */
  blockedFor(now: number): number {
    return Math.max(0, (this.blockedUntil?.getTime() ?? 0) - now)
  }

  /** True: it is blocked from now on. */
  countFailure(now: number): boolean {
    const recent = [...this.failures.filter((at) => at > now - failuresWithinMs), now]
    const isBlocked = recent.length >= failuresMax
    this.failures = isBlocked ? [] : recent
    if (isBlocked) this.blockedUntil = new Date(now + blockedMs)
    return isBlocked
  }
}
SecondFactorSchema.setClass(SecondFactor)
