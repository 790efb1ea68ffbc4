import { fieldsWith, profileFieldNames, replicatedInstance } from '@gatehouse/contracts'
import type { AvatarColor, UserReply } from '@gatehouse/contracts'
import { p } from '@mikro-orm/core'
import { defineTable, TextColumn } from './table.ts'

/** No hash can equal it, so a stub cannot log in. Spec: User record. */
export const stubPasswordHash = '!federation-replicated'

/** An account of the same user on another instance. Contract: 2, fields. */
export type ReplicatedInstance = UserReply['replicatedInstances'][number]

/** A JSON array as text. Unreadable entries are left out: a damaged row must not block its account. */
class ReplicatedInstancesType extends TextColumn<ReplicatedInstance[], string> {
  override convertToDatabaseValue(instances: ReplicatedInstance[]): string {
    return JSON.stringify(instances)
  }

  override convertToJSValue(stored: string): ReplicatedInstance[] {
    return parseArray(stored).flatMap((entry) => replicatedInstance.safeParse(entry).data ?? [])
  }
}

function parseArray(json: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(json)
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

/** No hash can equal it: the account has no password. Contract: 3, Identity providers. */
export const noPasswordHash = '!'

declare const ofRevocation: unique symbol

/** Milliseconds since the epoch. No token was issued in its second before: only `revocationTime` of identity makes one. */
export type RevocationTime = number & { readonly [ofRevocation]: true }

/** Times as numbers are milliseconds since the epoch. */
const UserSchema = defineTable('User', 'users', {
  id: p.bigint('string').primary().autoincrement(false),
  username: p.text().unique(),
  passwordHash: p.text().hidden(),
  /** False: the hash is `noPasswordHash`. Contract: 3, Identity providers. */
  hasPassword: p.boolean().default(true),
  displayName: p.text().nullable(),
  avatar: p.text().nullable(),
  banner: p.text().nullable(),
  bio: p.text().nullable(),
  customStatus: p.text().nullable(),
  accentColor: p.text().nullable(),
  avatarColor: p.text().$type<AvatarColor>().nullable(),
  status: p.text().$type<'online' | 'offline'>().default('offline'),
  isAdmin: p.boolean().default(false),
  isDeleted: p.boolean().default(false),
  passwordChangedAt: p.bigint('number').$type<RevocationTime>().nullable(),
  /** The last change that closed all sockets: a reset, a recovery, the end of all sessions, a suspension or a deletion. */
  sessionsEndedAt: p.bigint('number').nullable(),
  /** Decides the close code of a missed event. Contract: 6, forced disconnect. */
  sessionsEndedByReset: p.boolean().default(false),
  /** From an admin's reset until the user has chosen a password. Contract: 2, self view. */
  passwordChangeRequired: p.boolean().default(false),
  /** SHA-256 of the secret of the newest link, until it is used or anything ends the sessions. Contract: 3, recover. */
  recoveryHash: p.text().nullable(),
  recoveryExpiresAt: p.bigint('number').nullable(),
  /** Who made it, and the `iat` of the token then: it ends with that authority. Null: the operator. */
  recoveryAdminId: p.bigint('string').nullable(),
  recoveryTokenIssuedAt: p.bigint('number').nullable(),
  /** Suspended here, since when. Suspending again keeps this time. Contract: 5, suspend. */
  suspendedAt: p.bigint('number').nullable(),
  suspendedReason: p.text().nullable(),
  /** When a suspension here last began or ended. Only rises: peers take no earlier one. Contract: 7, Account states. */
  suspensionChangedAt: p.bigint('number').nullable(),
  /** Suspended by the home instance, since when. Contract: 7, Account states. */
  homeSuspendedAt: p.bigint('number').nullable(),
  /** By the clock of the home: of the last state that it told. */
  homeStateAt: p.bigint('number').nullable(),
  /** On: a login asks for its code. Contract: 3, Second factor. */
  secondFactor: p.boolean().default(false),
  /** An admin who must set one up before acting as one. */
  secondFactorDue: p.boolean().default(false),
  /** Rises with every change to what decides over tokens. Design: invariant 1. */
  stateVersion: p.integer().default(1),
  homeInstance: p.text().nullable(),
  homeUserId: p.text().nullable(),
  /** The former identity of a detached account. Contract: 7, detached accounts. */
  detachedHomeInstance: p.text().fieldName('former_home_instance').nullable(),
  formerHomeUserId: p.text().nullable(),
  federationHomeOrphaned: p.boolean().default(false),
  avatarSource: p.text().nullable(),
  bannerSource: p.text().nullable(),
  /** As the user's clients named them: nothing proves that these accounts exist. Spec: User record. */
  replicatedInstances: p.type(ReplicatedInstancesType).defaultRaw("'[]'"),
  discoverable: p.boolean().default(true),
  showActivity: p.boolean().default(true),
  /** 0 when never. */
  profileUpdatedAt: p.bigint('number').defaultRaw('0'),
  createdAt: p.datetime(),
})

export type StubUpgrade = { avatarColor: AvatarColor } & Required<
  Pick<User, 'passwordHash' | 'username' | 'homeUserId' | 'displayName'>
>

/** `recoveryAdminId`: null for the operator. */
export type RecoveryLink = {
  recoveryHash: string
  recoveryExpiresAt: number
  recoveryAdminId: string | null
  recoveryTokenIssuedAt: number | null
}

/** The setting requireSecondFactorForAdmins. */
export type SecondFactorDemand = { ofAdmins: boolean }

export class User extends UserSchema.class {
  isStub(): boolean {
    return this.passwordHash === stubPasswordHash
  }

  isLocal(): boolean {
    return this.homeInstance === null || this.homeInstance === undefined
  }

  isNative(): boolean {
    return this.isLocal() && !this.federationHomeOrphaned && !this.isStub()
  }

  /** Whether the account may be that user's at home: it holds this id, or none. Contract: 7, Login repair. */
  fitsHomeUserId(homeUserId: string): boolean {
    return (this.homeUserId ?? homeUserId) === homeUserId
  }

  /**
   * Keeps the former identity, so that a proof can reattach it. Throws for a local account, a stub and a tombstone.
   * Contract: 7, detached accounts.
   */
  detachFromHome(): void {
    if (this.isLocal() || this.isStub() || this.isDeleted) throw new Error('only a live replica can be detached')
    set(this, { detachedHomeInstance: this.homeInstance, formerHomeUserId: this.homeUserId })
    set(this, { homeInstance: null, homeUserId: null, federationHomeOrphaned: true })
  }

  /**
   * Any profile of the home counts afterwards: `profileUpdatedAt` is 0. Throws unless the account is live, detached and
   * without two-factor. protocol.md 4.6.
   */
  reattachToHome({ homeUserId, username }: { homeUserId: string; username: string }): void {
    if (!this.federationHomeOrphaned || this.isDeleted || this.secondFactor)
      throw new Error('only a live detached account without a second factor can be reattached')
    set(this, { homeInstance: this.detachedHomeInstance, homeUserId, username, ...notDetached })
    set(this, {
      hasPassword: true,
      passwordChangeRequired: false,
      profileUpdatedAt: 0,
      stateVersion: this.stateVersion + 1,
    })
    set(this, { ...notSuspendedByHome, ...noRecovery })
  }

  /** Here or by its home. */
  isSuspended(): boolean {
    return this.suspendedAt != null || this.homeSuspendedAt != null
  }

  /** The newest link counts. Contract: 3, recover. */
  offerRecovery(link: RecoveryLink): void {
    if (this.isDeleted || !this.isLocal() || this.isSuspended()) throw new Error('the account cannot be recovered')
    set(this, link)
  }

  /** With the address that it was sent to. Contract: 3, Mail. */
  endRecovery(): void {
    set(this, noRecovery)
  }

  /** Revokes the tokens from before `at`, and ends the password reset link. Spec: Bearer tokens, revocation. */
  changePassword(passwordHash: string, at: RevocationTime): void {
    set(this, { passwordHash, hasPassword: true, passwordChangedAt: at, passwordChangeRequired: false, ...noRecovery })
    this.stateVersion += 1
  }

  /** Keeps the password, and ends the password reset link. Contract: 3, sessions/end. */
  endSessions(at: RevocationTime): void {
    const sessionsEndedAt = laterOf(at, this.sessionsEndedAt)
    set(this, { passwordChangedAt: at, sessionsEndedAt, sessionsEndedByReset: false, ...noRecovery })
    this.stateVersion += 1
  }

  /** Ends all sessions, also of an account that is suspended already. Contract: 5, suspend. */
  suspend(reason: string | null, at: RevocationTime): void {
    this.endSessions(at)
    if (this.suspendedAt == null) noteSuspensionChange(this, at)
    this.suspendedAt ??= at
    this.suspendedReason = reason
  }

  /** Lifts a suspension by the home too. Contract: 5, suspend. */
  unsuspend(now: number): void {
    if (this.suspendedAt != null) noteSuspensionChange(this, now)
    set(this, { ...notSuspended, homeSuspendedAt: null })
  }

  /** `ts` by the clock of the home. Contract: 7, Account states. */
  suspendByHome(ts: number, at: RevocationTime): void {
    this.endSessions(at)
    set(this, { homeSuspendedAt: at, homeStateAt: ts })
  }

  /** A suspension here stays. */
  unsuspendByHome(ts: number): void {
    set(this, { homeSuspendedAt: null, homeStateAt: ts })
  }

  /** A change of the password that closes all sockets. Contract: 3, recover. */
  recover(passwordHash: string, at: RevocationTime): void {
    this.changePassword(passwordHash, at)
    this.sessionsEndedByReset = true
    this.sessionsEndedAt = laterOf(at, this.sessionsEndedAt)
  }

  /** The user must choose a password after logging in with this one. Spec: Admin reset 2, 3. */
  resetPassword(passwordHash: string, at: RevocationTime): void {
    this.recover(passwordHash, at)
    this.passwordChangeRequired = true
  }

  /** Also decides whether the account must now turn on two-factor. Contract: 5, role. */
  setRole(isAdmin: boolean, demand: SecondFactorDemand): void {
    this.isAdmin = isAdmin
    this.stateVersion += 1
    this.demandSecondFactor(demand)
  }

  /** Changes no token. Contract: 3, Second factor. */
  setSecondFactor(isOn: boolean, demand: SecondFactorDemand): void {
    if (isOn && (!this.isLocal() || this.isDeleted)) throw new Error('only a live local account has a second factor')
    this.secondFactor = isOn
    this.stateVersion += 1
    this.demandSecondFactor(demand)
  }

  /** Whether it changed anything. Contract: 5, settings. */
  demandSecondFactor({ ofAdmins }: SecondFactorDemand): boolean {
    const isDue = ofAdmins && this.isAdmin && !this.secondFactor
    if (isDue === this.secondFactorDue) return false
    this.secondFactorDue = isDue
    this.stateVersion += 1
    return true
  }

  /** Fills in only missing fields. Spec: Registration 10. */
  upgradeStub(registration: StubUpgrade): void {
    if (!this.isStub() || this.isDeleted) throw new Error('only a live stub can be upgraded')
    this.passwordHash = registration.passwordHash
    this.username = registration.username
    this.homeUserId ??= registration.homeUserId
    this.displayName ??= registration.displayName
    this.avatarColor ??= registration.avatarColor
    this.stateVersion += 1
  }

  /** Identity at home and `createdAt` stay. `now` in milliseconds. Spec: Tombstone, the user row. */
  becomeTombstone({ passwordHash, now }: { passwordHash: string; now: number }): void {
    Object.assign(this, emptyProfile)
    set(this, { ...notDetached, ...notSuspended, ...notSuspendedByHome, suspensionChangedAt: null, ...noRecovery })
    set(this, { username: `!deleted:${this.id}`, passwordHash, isDeleted: true, status: 'offline', isAdmin: false })
    set(this, { avatarSource: null, bannerSource: null, replicatedInstances: [] })
    set(this, { hasPassword: true, passwordChangeRequired: false })
    set(this, { secondFactor: false, secondFactorDue: false, sessionsEndedAt: laterOf(now, this.sessionsEndedAt) })
    this.stateVersion += 1
  }
}
UserSchema.setClass(User)

const laterOf = (now: number, before: number | null | undefined) => Math.max(now, before ?? now)

const flags: readonly string[] = fieldsWith({ kind: 'flag' })
const emptyProfile = Object.fromEntries(profileFieldNames.map((name) => [name, flags.includes(name) ? false : null]))
const notDetached = { detachedHomeInstance: null, formerHomeUserId: null, federationHomeOrphaned: false }
const notSuspended = { suspendedAt: null, suspendedReason: null }
const notSuspendedByHome = { homeSuspendedAt: null, homeStateAt: null }

function noteSuspensionChange(user: User, now: number): void {
  user.suspensionChangedAt = laterOf(now, (user.suspensionChangedAt ?? 0) + 1)
}

const noRecovery = {
  recoveryHash: null,
  recoveryExpiresAt: null,
  recoveryAdminId: null,
  recoveryTokenIssuedAt: null,
}

function set(user: User, columns: Partial<User>): void {
  Object.assign(user, columns)
}

/** Triggers keep the rows. Null: changed since the last version was given. docs/decisions/upstreams.md */
export const AccountVersion = defineTable('AccountVersion', 'account_versions', {
  userId: p.bigint('string').primary().autoincrement(false),
  version: p.bigint('number').nullable().unique(),
})
