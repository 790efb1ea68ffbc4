import type { User } from '../src/api/records.ts'
import type { ReadyEvent } from '../src/live/frames.ts'

export function buildUser(overrides: Partial<User> = {}): User {
  return {
    id: '1',
    username: 'alice',
    displayName: null,
    avatar: null,
    banner: null,
    accentColor: null,
    avatarColor: 'mint',
    bio: null,
    status: 'offline',
    customStatus: null,
    isAdmin: false,
    discoverable: true,
    profileUpdatedAt: 0,
    createdAt: 1,
    homeInstance: null,
    homeUserId: null,
    replicatedInstances: [],
    showActivity: true,
    ...overrides,
  }
}

/** A token in the form of a JWT; `mark` distinguishes the tokens of one user. */
export function buildToken(userId = '1', mark = 'a', times: { iat?: number; exp?: number } = {}): string {
  return `h.${btoa(JSON.stringify({ userId, mark, ...times })).replaceAll('=', '')}.s`
}

export function buildReady(overrides: Partial<ReadyEvent> = {}): ReadyEvent {
  return {
    type: 'ready',
    user: buildUser(),
    sessionId: 's1',
    serverTime: 1,
    instance: { name: 'Home', instanceId: 'i1', version: '1' },
    presences: { '1': 'online' },
    ...overrides,
  }
}
