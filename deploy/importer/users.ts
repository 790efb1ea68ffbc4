import { avatarColors, normalizeHost, normalizeOrigin, normalizeUsername } from '@gatehouse/contracts'
import { insertInto, type ImportContext } from './context.ts'
import { Repetitions } from './id-set.ts'
import type { SourceRow } from './source.ts'
import { readChange, readHash, unverifiable } from './user-credentials.ts'
import { identityOf, settleIdentities, settleNames, type User } from './user-names.ts'
import {
  isChangedText,
  readFlag,
  readId,
  readInteger,
  readName,
  readOptionalTime,
  readText,
  readTime,
  timestamp,
} from './values.ts'

/** Ids, names, hashes and times stay as they are. In memory are those whose name or identity another one has too. */
export async function importUsers(context: ImportContext): Promise<void> {
  const { report, source, client } = context
  const [names, identities] = findRepetitions(context)
  const inserter = insertInto(client, 'users')
  let hasAdmin = false as boolean
  const add = async ({ created, isExact: _, ...user }: User) => {
    await inserter.add({ ...user, created_at: timestamp(created) })
    report.count('users', 'imported')
    if (!user.is_deleted) context.liveUsers.add(user.id)
    hasAdmin ||= user.is_admin
  }
  const settle = (users: User[]) => settleNames(context, users, (name) => names.has(name))
  const contested: User[] = []
  for (const row of source.rows('users')) {
    report.count('users', 'read')
    const id = readId(row['id'])
    if (id === null || !context.users.add(id)) {
      report.skip('users', readText(row['id']), 'the id is not a valid number')
      continue
    }
    const user = readUser(context, id, row)
    if (names.isRepeated(user.username) || identities.isRepeated(identityOf(user))) {
      contested.push(user)
      continue
    }
    settle([user])
    await add(user)
  }
  settle(contested)
  settleIdentities(context, contested)
  for (const user of contested) await add(user)
  await inserter.flush()
  if (!hasAdmin) report.note('no local account is an admin: `users make-admin <user>` makes one')
}

/** Of the names and identities that live accounts want. */
function findRepetitions(context: ImportContext): [names: Repetitions, identities: Repetitions] {
  const [names, identities] = [new Repetitions(), new Repetitions()]
  for (const row of context.source.rows('users')) {
    const id = readId(row['id'])
    if (id === null || readFlag(row['is_deleted'])) continue
    names.add(nameOf(id, row))
    const { home_instance, home_user_id } = placeOf(row)
    if (home_user_id !== null) identities.add(identityOf({ home_instance, home_user_id }))
  }
  return [names, identities]
}

/** The names of tombstones are theirs: one that is deleted later must find its own free. */
function nameOf(id: string, row: SourceRow): string {
  const username = normalizeUsername(readText(row['username']) ?? '')
  return username && !username.startsWith('!deleted:') ? username : `user_${id}`
}

/** Of an account that is not deleted. */
function placeOf(row: SourceRow) {
  const home = homeOf(row)
  const isDetached = readFlag(row['federation_home_orphaned']) || readText(row['detached_home_instance']) !== null
  const isLocal = home === null || isDetached
  const homeUserId = readText(row['home_user_id']) ?? readText(row['detached_home_user_id'])
  const home_instance = isDetached ? null : home
  return { home, isDetached, isLocal, homeUserId, home_instance, home_user_id: isLocal ? null : homeUserId }
}

function readUser(context: ImportContext, id: string, row: SourceRow): User {
  const { report } = context
  const tell = (what: string) => report.tell('users', id, what)
  if (Object.values(row).some(isChangedText)) tell('characters that cannot be stored were removed')
  const tombstone = readTombstone(context, id, row)
  if (readFlag(row['is_deleted'])) {
    if (readFlag(row['is_admin'])) tell('a deleted account cannot be an admin, so the role was not imported')
    return tombstone
  }

  const { home, isDetached, isLocal, homeUserId, home_instance, home_user_id } = placeOf(row)
  if (isDetached) tell('detached from its home instance: imported as a local account with the same name')
  if (home !== null && home === context.domain)
    tell('its home instance is this instance, so its password cannot be checked there')
  if (home === null && homeUserId !== null && homeUserId !== id)
    tell('a local account with a homeUserId, which was not imported')
  if (readFlag(row['federation_heal_pending']))
    tell('belongs to a peer that was set up again: an admin of that peer has to decide')
  const isAdmin = readFlag(row['is_admin'])
  if (isAdmin && !isLocal) tell('a federated account cannot be an admin, so the role was not imported')
  const username = nameOf(id, row)
  return {
    ...tombstone,
    ...profileOf(context, id, row, isLocal),
    username,
    isExact: readText(row['username']) === username,
    password_hash: readHash(context, id, row, isLocal),
    is_admin: isAdmin && isLocal,
    is_deleted: false,
    home_instance,
    home_user_id,
    federation_home_orphaned: isDetached && home !== null,
    former_home_instance: isDetached ? home : null,
    former_home_user_id: isDetached && home !== null ? homeUserId : null,
    replicated_instances: JSON.stringify(readReplicated(row, tell)),
    discoverable: (readInteger(row['discoverable']) ?? 1n) !== 0n,
    profile_updated_at: readOptionalTime(row['profile_updated_at']) ?? 0,
  }
}

function profileOf({ report, files }: ImportContext, id: string, row: SourceRow, isLocal: boolean) {
  const color = readText(row['avatar_color'])
  const isKnown = color === null || (avatarColors as readonly string[]).includes(color)
  if (!isKnown) report.tell('users', id, 'unknown avatar color, which was not imported')
  for (const column of ['avatar', 'banner'] as const) {
    const name = readText(row[column])?.replace(/^\/?api\/uploads\//, '')
    if (!name) continue
    if (/^https?:/i.test(name))
      report.tell(
        'users',
        id,
        `${isLocal ? '' : 'federated: '}its ${column} is an address on another server, so it was not imported`,
      )
    else files.push({ name, owner: { userId: id, column } })
  }
  return {
    display_name: readName(row['display_name']),
    avatar: null,
    banner: null,
    bio: readText(row['bio']),
    custom_status: readName(row['custom_status']),
    accent_color: readText(row['accent_color']),
    avatar_color: isKnown ? color : null,
  }
}

/** Of an account that is not deleted, what a tombstone keeps. */
function readTombstone(context: ImportContext, id: string, row: SourceRow) {
  const home = homeOf(row)
  const nothing = { display_name: null, avatar: null, banner: null, bio: null, custom_status: null, accent_color: null }
  return {
    ...nothing,
    avatar_color: null,
    id,
    username: `!deleted:${id}`,
    isExact: true,
    password_hash: unverifiable(context),
    is_admin: false,
    is_deleted: true,
    password_changed_at: readChange(context, id, row),
    state_version: 1,
    status: 'offline',
    home_instance: home,
    home_user_id: home === null ? null : readText(row['home_user_id']),
    federation_home_orphaned: false,
    former_home_instance: null,
    former_home_user_id: null,
    replicated_instances: '[]',
    discoverable: false,
    show_activity: (readInteger(row['show_activity']) ?? 1n) !== 0n,
    profile_updated_at: 0,
    password_change_required: false,
    sessions_ended_by_reset: false,
    created: readTime(row['created_at'], id),
  }
}

/** The host of a home instance, the former one too, also where an old row holds a URL. */
function homeOf(row: SourceRow): string | null {
  const text = (readText(row['home_instance']) || readText(row['detached_home_instance']))?.trim()
  if (!text) return null
  const origin = normalizeOrigin(text)
  return normalizeHost(origin === null ? text : new URL(origin).host)
}

function readReplicated(row: SourceRow, tell: (what: string) => void): { origin: string; username: string }[] {
  const stored = readText(row['replicated_instances'])
  if (!stored) return []
  const entries = parseArray(stored)
  const namesByAddress = new Map<string, string>()
  for (const entry of entries ?? []) {
    const { origin, domain, username } = (entry ?? {}) as Record<string, unknown>
    const address = normalizeOrigin(readText(origin) ?? (domain ? `https://${readText(domain)}` : ''))
    const name = readText(username)?.trim()
    if (address && name && name.length <= 255 && !namesByAddress.has(address)) namesByAddress.set(address, name)
  }
  const instances = Array.from(namesByAddress, ([origin, username]) => ({ origin, username })).slice(0, 20)
  if (instances.length !== entries?.length)
    tell('duplicate or unreadable entries in its list of instances were not imported')
  return instances
}

function parseArray(text: string): unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(text)
    return Array.isArray(parsed) ? parsed : null
  } catch {
    return null
  }
}
