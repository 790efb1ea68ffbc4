import { replicatedInstance, type AvatarColor, type UserReply } from '@gatehouse/contracts'
import { Type, defineEntity, p } from '@mikro-orm/core'

/** No hash can equal it, so a stub cannot log in. Spec: User record. */
export const stubPasswordHash = '!federation-replicated'

/** An instance on which a user also has an account, and the name there. Contract: 2. */
export type ReplicatedInstance = UserReply['replicatedInstances'][number]

/** A JSON array stored as text. Entries that cannot be read are left out: a damaged row must not block its account. */
class ReplicatedInstancesType extends Type<ReplicatedInstance[], string> {
  override convertToDatabaseValue(instances: ReplicatedInstance[]): string {
    return JSON.stringify(instances)
  }

  override convertToJSValue(stored: string): ReplicatedInstance[] {
    return parseArray(stored).flatMap((entry) => {
      const parsed = replicatedInstance.safeParse(entry)
      return parsed.success ? [parsed.data] : []
    })
  }

  override getColumnType(): string {
    return 'text'
  }

  override compareAsType(): string {
    return 'string'
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

const UserSchema = defineEntity({
  name: 'User',
  tableName: 'users',
  properties: {
    id: p.bigint('string').primary().autoincrement(false),
    username: p.text().unique(),
    passwordHash: p.text().hidden(),
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
    /** Milliseconds since the epoch. */
    passwordChangedAt: p.bigint('number').nullable(),
    /** Milliseconds since the epoch: when a reset or a deletion last closed every socket of this account. */
    sessionsEndedAt: p.bigint('number').nullable(),
    /** Whether that was a reset: it tells which close code is due where the event was missed. Contract: 6. */
    sessionsEndedByReset: p.boolean().default(false),
    /** After an admin's reset, until the person has chosen a password. Contract: 2. */
    passwordChangeRequired: p.boolean().default(false),
    /** Rises with every change to what decides over tokens. Design: invariant 1. */
    stateVersion: p.integer().default(1),
    homeInstance: p.text().nullable(),
    homeUserId: p.text().nullable(),
    /** Of a detached account, which is stored as a local one: the identity that it had. Contract: 7. */
    formerHomeInstance: p.text().nullable(),
    formerHomeUserId: p.text().nullable(),
    /** Whether this account is detached. */
    federationHomeOrphaned: p.boolean().default(false),
    /** Of a replica: where its pictures were fetched from. */
    avatarSource: p.text().nullable(),
    bannerSource: p.text().nullable(),
    /** Spec: User record. */
    replicatedInstances: p.type(ReplicatedInstancesType).defaultRaw("'[]'"),
    discoverable: p.boolean().default(true),
    showActivity: p.boolean().default(true),
    /** Milliseconds since the epoch, 0 when never. */
    profileUpdatedAt: p.bigint('number').defaultRaw('0'),
    createdAt: p.datetime(),
  },
})

export type StubUpgrade = {
  passwordHash: string
  username: string
  homeUserId: string | null
  displayName: string | null
  avatarColor: AvatarColor
}

export class User extends UserSchema.class {
  /** Whether this is a placeholder for a remote user without a registration here. */
  isStub(): boolean {
    return this.passwordHash === stubPasswordHash
  }

  /** Native to this instance, so that its own password decides. */
  isLocal(): boolean {
    return this.homeInstance === null || this.homeInstance === undefined
  }

  /** Local from the start: another instance may keep this account's identity. A detached account is no such one. */
  isNative(): boolean {
    return this.isLocal() && !this.federationHomeOrphaned && !this.isStub()
  }

  /** The home instance was lost: from now on this is a local account. Its name stays. Contract: 7, detached accounts. */
  detachFromHome(): void {
    if (this.isLocal() || this.isStub() || this.isDeleted) throw new Error('only a live replica can be detached')
    this.formerHomeInstance = this.homeInstance
    this.formerHomeUserId = this.homeUserId
    this.homeInstance = null
    this.homeUserId = null
    this.federationHomeOrphaned = true
  }

  /** Makes a detached account the replica of a new identity at its former home. federation-wire.md 4, attach. */
  reattachToHome({ homeUserId, username }: { homeUserId: string; username: string }): void {
    if (!this.federationHomeOrphaned || this.isDeleted)
      throw new Error('only a live detached account can be reattached')
    this.homeInstance = this.formerHomeInstance
    this.homeUserId = homeUserId
    this.username = username
    this.formerHomeInstance = null
    this.formerHomeUserId = null
    this.federationHomeOrphaned = false
    // The home decides over passwords again: nobody has to choose one here.
    this.passwordChangeRequired = false
    this.profileUpdatedAt = 0
    this.stateVersion += 1
  }

  /**
   * Replaces the hash; every token issued before `now` (milliseconds) is revoked. A replica whose clock is behind never
   * moves the time back, which would make revoked tokens valid again. Gives the time of the change. Spec: Bearer tokens,
   * revocation.
   */
  changePassword(passwordHash: string, now: number): number {
    const changedAt = laterOf(now, this.passwordChangedAt)
    this.passwordHash = passwordHash
    this.passwordChangedAt = changedAt
    this.passwordChangeRequired = false
    this.stateVersion += 1
    return changedAt
  }

  /**
   * Revokes every token issued before `now` (milliseconds) and ends all sockets; the password stays. Gives the time as
   * above. Contract: 3, sessions/end.
   */
  endSessions(now: number): number {
    const endedAt = laterOf(now, this.passwordChangedAt)
    this.passwordChangedAt = endedAt
    this.sessionsEndedAt = laterOf(endedAt, this.sessionsEndedAt)
    this.sessionsEndedByReset = false
    this.stateVersion += 1
    return endedAt
  }

  /** An admin's reset: a new hash, and all sockets end. Gives the time of the change as above. Spec: Admin reset 2, 3. */
  resetPassword(passwordHash: string, now: number): number {
    const changedAt = this.changePassword(passwordHash, now)
    this.passwordChangeRequired = true
    this.sessionsEndedByReset = true
    this.sessionsEndedAt = laterOf(changedAt, this.sessionsEndedAt)
    return changedAt
  }

  /** Contract: 5, role. */
  setRole(isAdmin: boolean): void {
    this.isAdmin = isAdmin
    this.stateVersion += 1
  }

  /**
   * Turns a stub into the account of the user it stood for: same id, a password and the chosen name; fields that are
   * missing are filled in, the others stay. Spec: Registration 10.
   */
  upgradeStub(registration: StubUpgrade): void {
    if (!this.isStub() || this.isDeleted) throw new Error('only a live stub can be upgraded')
    this.passwordHash = registration.passwordHash
    this.username = registration.username
    this.homeUserId ??= registration.homeUserId
    this.displayName ??= registration.displayName
    this.avatarColor ??= registration.avatarColor
    this.stateVersion += 1
  }

  /**
   * Turns the row into a tombstone: the name is free again, every token is revoked, no password fits. Identity at home and
   * `createdAt` stay. `now` in milliseconds. Spec: Tombstone, the user row.
   */
  becomeTombstone({ passwordHash, now }: { passwordHash: string; now: number }): void {
    this.username = `!deleted:${this.id}`
    this.passwordHash = passwordHash
    this.displayName = null
    this.avatar = null
    this.banner = null
    this.bio = null
    this.customStatus = null
    this.accentColor = null
    this.avatarColor = null
    this.avatarSource = null
    this.bannerSource = null
    this.formerHomeInstance = null
    this.formerHomeUserId = null
    this.federationHomeOrphaned = false
    this.replicatedInstances = []
    this.passwordChangeRequired = false
    this.isDeleted = true
    this.status = 'offline'
    this.isAdmin = false
    this.discoverable = false
    this.sessionsEndedAt = laterOf(now, this.sessionsEndedAt)
    this.stateVersion += 1
  }
}
const laterOf = (now: number, before: number | null | undefined) => Math.max(now, before ?? now)

UserSchema.setClass(User)
export { UserSchema }
