import type { Instance, User } from './instance.ts'
import { isSameHost } from './origins.ts'

export function addUser(instance: Instance, fields: Partial<User> & { username: string }): User {
  const user: User = {
    id: instance.newId(),
    password: null,
    homeInstance: null,
    homeUserId: null,
    detached: false,
    deleted: false,
    markedInstanceId: null,
    displayName: null,
    avatar: null,
    banner: null,
    accentColor: null,
    avatarColor: null,
    bio: null,
    status: 'offline',
    profileUpdatedAt: 0,
    ownedSpaces: [],
    replicatedInstances: [],
    registry: [],
    registryUpdatedAt: 0,
    ...fields,
  }
  instance.users.set(user.id, user)
  return user
}

export function liveUsers(instance: Instance): User[] {
  return [...instance.users.values()].filter((user) => !user.deleted)
}

export function nativeUsers(instance: Instance): User[] {
  return liveUsers(instance).filter((user) => user.homeInstance === null)
}

export function isStub(user: User): boolean {
  return user.homeInstance !== null && user.password === null && !user.detached
}

/** Everybody whose home is that host, but for detached accounts, which are local in all but name. wire: 4 */
export function usersOfHost(instance: Instance, host: string): User[] {
  return liveUsers(instance).filter(
    (user) => !user.detached && user.homeInstance !== null && isSameHost(user.homeInstance, host),
  )
}

export function findUserOfHost(instance: Instance, host: string, homeUserId: string): User | undefined {
  return usersOfHost(instance, host).find((user) => user.homeUserId === homeUserId)
}

export function baseName(username: string): string {
  return username.split('@')[0] ?? username
}

/** The identity stays on the row, so that no stub is made of it again. wire: 3 */
export function tombstone(user: User): void {
  Object.assign(user, {
    username: `!deleted:${user.id}`,
    password: null,
    deleted: true,
    markedInstanceId: null,
    displayName: null,
    avatar: null,
    banner: null,
    accentColor: null,
    avatarColor: null,
    bio: null,
    status: 'offline',
    replicatedInstances: [],
  })
}

/** The instance behind a host is another one than before; what that means is settled later. wire: 2.6 */
export function markUsersOfHost(instance: Instance, host: string, formerInstanceId: string): void {
  for (const user of usersOfHost(instance, host)) user.markedInstanceId ??= formerInstanceId
}

/** At the next handshake: the same instance after all, or stubs end and accounts lose their home. wire: 2.6 */
export function settleMarkedUsers(instance: Instance, host: string, instanceId: string): void {
  for (const user of usersOfHost(instance, host)) {
    if (user.markedInstanceId === null) continue
    const isAnother = user.markedInstanceId !== instanceId
    user.markedInstanceId = null
    if (!isAnother) continue
    if (isStub(user)) tombstone(user)
    else user.detached = true
  }
}
