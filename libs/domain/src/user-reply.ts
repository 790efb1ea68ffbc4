import type { UserReply } from '@gatehouse/contracts'
import type { UserFacts } from './user-facts.ts'

/**
 * The sanitized user: the only way a user leaves this instance. `isSelf` adds what only they may see; a tombstone
 * keeps nothing but its id and the day it was made. Spec: Sanitized user; Contract: 2.
 */
export function sanitizeUser(user: UserFacts, isSelf: boolean): UserReply {
  if (user.isDeleted) return tombstoneReply(user)
  return {
    id: user.id,
    username: user.username,
    displayName: user.displayName ?? null,
    avatar: user.avatar ?? null,
    banner: user.banner ?? null,
    accentColor: user.accentColor ?? null,
    avatarColor: user.avatarColor ?? null,
    bio: user.bio ?? null,
    status: user.status,
    customStatus: user.customStatus ?? null,
    isAdmin: user.isAdmin,
    discoverable: user.discoverable,
    profileUpdatedAt: user.profileUpdatedAt,
    createdAt: user.createdAt.getTime(),
    homeInstance: user.homeInstance ?? null,
    homeUserId: user.homeUserId ?? null,
    replicatedInstances: JSON.parse(user.replicatedInstances) as UserReply['replicatedInstances'],
    ...(isSelf ? { showActivity: user.showActivity } : {}),
  }
}

function tombstoneReply(user: UserFacts): UserReply {
  return {
    id: user.id,
    username: 'Deleted User',
    displayName: null,
    avatar: null,
    banner: null,
    accentColor: null,
    avatarColor: null,
    bio: null,
    status: 'offline',
    customStatus: null,
    isAdmin: false,
    isDeleted: true,
    discoverable: false,
    profileUpdatedAt: 0,
    createdAt: user.createdAt.getTime(),
    homeInstance: null,
    homeUserId: null,
    replicatedInstances: [],
  }
}
