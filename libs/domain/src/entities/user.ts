import { defineEntity, p } from '@mikro-orm/core'

/** No hash can equal it, so a stub cannot log in. Spec: User record. */
export const stubPasswordHash = '!federation-replicated'

const UserSchema = defineEntity({
  name: 'User',
  tableName: 'users',
  properties: {
    id: p.bigint('string').primary(),
    username: p.text().unique(),
    passwordHash: p.text().hidden(),
    displayName: p.text().nullable(),
    avatar: p.text().nullable(),
    banner: p.text().nullable(),
    bio: p.text().nullable(),
    customStatus: p.text().nullable(),
    accentColor: p.text().nullable(),
    avatarColor: p.text().nullable(),
    status: p.text().$type<'online' | 'offline'>().default('offline'),
    isAdmin: p.boolean().default(false),
    isDeleted: p.boolean().default(false),
    /** Milliseconds since the epoch. */
    passwordChangedAt: p.bigint('number').nullable(),
    /** Milliseconds since the epoch: when a reset or a deletion last closed every socket of this account. */
    sessionsEndedAt: p.bigint('number').nullable(),
    /** Rises with every change to what decides over tokens. */
    stateVersion: p.integer().default(1),
    homeInstance: p.text().nullable(),
    homeUserId: p.text().nullable(),
    /** A JSON array as text. Spec: User record. */
    replicatedInstances: p.text().default('[]'),
    discoverable: p.boolean().default(true),
    showActivity: p.boolean().default(true),
    /** Milliseconds since the epoch, 0 when never. */
    profileUpdatedAt: p.bigint('number').default(0),
    createdAt: p.datetime(),
  },
})

export type StubUpgrade = {
  passwordHash: string
  username: string
  homeUserId: string | null
  displayName: string | null
  avatarColor: string
}

export class User extends UserSchema.class {
  /** Whether this is a placeholder made for a remote user who never registered here. */
  isStub(): boolean {
    return this.passwordHash === stubPasswordHash
  }

  /** Native to this instance, so that its own password counts. */
  isLocal(): boolean {
    return this.homeInstance === null || this.homeInstance === undefined
  }

  /**
   * Takes a new hash; every token born before `now` (milliseconds) is dead. A replica whose clock is behind brings no
   * token back that an earlier change ended. Gives when the change counts. Spec: Bearer tokens, revocation.
   */
  changePassword(passwordHash: string, now: number): number {
    const changedAt = Math.max(now, this.passwordChangedAt ?? now)
    this.passwordHash = passwordHash
    this.passwordChangedAt = changedAt
    this.stateVersion += 1
    return changedAt
  }

  /**
   * Makes a stub the account of the person it stood for: same id, a password and a name of their own; what else is
   * missing is filled in, what is there stays. Spec: Registration 10.
   */
  upgradeStub(given: StubUpgrade): void {
    if (!this.isStub() || this.isDeleted) throw new Error('only a live stub can be upgraded')
    this.passwordHash = given.passwordHash
    this.username = given.username
    this.homeUserId ??= given.homeUserId
    this.displayName ??= given.displayName
    this.avatarColor ??= given.avatarColor
    this.stateVersion += 1
  }
}
UserSchema.setClass(User)
export { UserSchema }
