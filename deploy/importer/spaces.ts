import { importTable, importedId, type Ids, type ImportContext } from './context.ts'
import { importMessages } from './messages.ts'
import type { SourceRow } from './source.ts'
import { readId, readInteger, readText, readTimestamp } from './values.ts'

/** Role permissions, visibility and channel types have no place here. */
export async function importSpaces(context: ImportContext): Promise<void> {
  const spaces = await importSpaceRows(context)
  await importTable(context, 'space_members', {
    unique: [['space_id', 'user_id']],
    map: (row) => {
      const [space, user] = [importedId(spaces, row['space_id']), importedId(context.liveUsers, row['user_id'])]
      if (!space || !user) return 'its space or live user is missing'
      return { space_id: space, user_id: user, joined_at: readTimestamp(row['joined_at'], space) }
    },
  })
  const roles = await importRoles(context, spaces)
  await importMessages(context, await importChannels(context, spaces, roles))
  await importModeration(context, spaces)
}

async function importSpaceRows(context: ImportContext): Promise<Ids> {
  const { report, source, liveUsers } = context
  const heirs = new Map<string, string>()
  const joinedAt = (row: SourceRow) => Number(readInteger(row['joined_at']) ?? 0n)
  for (const row of [...source.rows('space_members')].toSorted((a, b) => joinedAt(a) - joinedAt(b))) {
    const [space, user] = [readId(row['space_id']), importedId(liveUsers, row['user_id'])]
    if (space && user && !heirs.has(space)) heirs.set(space, user)
  }
  return await importTable(context, 'spaces', (row) => {
    const id = readId(row['id'])
    if (id === null) return 'its id cannot be read'
    const owner = importedId(liveUsers, row['owner_id'])
    const ownerId = owner ?? heirs.get(id)
    if (ownerId === undefined) return 'it has no live owner and no live member'
    if (!owner)
      report.tell('spaces', id, `the space's owner no longer exists: the longest-standing member ${ownerId} owns it`)
    return { id, name: readText(row['name']) ?? '', owner_id: ownerId }
  })
}

/** A row that is a space's own and has a name. */
function namedOf(spaces: Ids, row: SourceRow) {
  const [id, space] = [readId(row['id']), importedId(spaces, row['space_id'])]
  return id && space ? { id, space_id: space, name: readText(row['name']) ?? '' } : 'its space is missing'
}

async function importRoles(context: ImportContext, spaces: Ids): Promise<Ids> {
  const roles = new Map<string, string>()
  await importTable(context, 'roles', (row) => {
    const role = namedOf(spaces, row)
    if (typeof role !== 'string') roles.set(role.id, role.space_id)
    return role
  })
  await importTable(context, 'member_roles', {
    to: 'role_assignments',
    unique: [['role_id', 'user_id']],
    map: (row) => {
      const [role, user] = [importedId(roles, row['role_id']), importedId(context.liveUsers, row['user_id'])]
      if (!role || roles.get(role) !== readId(row['space_id'])) return 'its role is missing or of another space'
      return user ? { role_id: role, user_id: user } : 'its user is missing'
    },
  })
  return roles
}

async function importChannels(context: ImportContext, spaces: Ids, roles: Ids): Promise<Ids> {
  const channels = await importTable(context, 'channels', (row) => namedOf(spaces, row))
  await importTable(context, 'channel_overrides', {
    unique: [['channel_id', 'target_type', 'target_id']],
    map: (row) => {
      const [channel, type] = [importedId(channels, row['channel_id']), readText(row['target_type'])]
      const targets = type === 'role' ? roles : type === 'member' ? context.users : new Set<string>()
      const target = importedId(targets, row['target_id'])
      const [allow, deny] = [readBits(row['allow']), readBits(row['deny'])]
      if (!channel) return 'its channel is missing'
      if (!target || allow === null || deny === null) return 'its target or bits cannot be read'
      return { channel_id: channel, target_type: type, target_id: target, allow, deny }
    },
  })
  return channels
}

/** A set of bits: a decimal number that fits 64 bits; nothing is the empty set. */
function readBits(value: unknown): string | null {
  const bits = value == null || value === '' ? 0n : readInteger(value)
  return bits === null || bits < 0n || bits > 2n ** 63n - 1n ? null : String(bits)
}

/** Bans, requests to join and restrictions of spaces. */
async function importModeration(context: ImportContext, spaces: Ids): Promise<void> {
  const { users } = context
  const carry = async (table: string, unique: readonly string[], rest: (row: SourceRow) => Record<string, unknown>) => {
    const map = (row: SourceRow) => {
      const [space, user] = [importedId(spaces, row['space_id']), importedId(users, row['user_id'])]
      const mapped = { ...rest(row), space_id: space, user_id: user }
      return space && user && !('id' in mapped && mapped.id === null) ? mapped : 'its space or user is missing'
    }
    await importTable(context, table, { unique: [unique], map })
  }
  await carry('bans', ['space_id', 'user_id'], (row) => {
    return { banned_by: importedId(users, row['banned_by']), reason: readText(row['reason']) }
  })
  await carry('join_requests', ['id'], (row) => {
    const decidedBy = importedId(users, row['decided_by'])
    return { id: readId(row['id']), decided_by: decidedBy, status: readText(row['status']) ?? 'pending' }
  })
  const moderatorOf = (row: SourceRow) => ({ moderator_id: importedId(users, row['moderator_id']) })
  await carry('voice_restrictions', ['space_id', 'user_id'], moderatorOf)
}
