import { importTable, isUser, once, type ImportContext } from './context.ts'
import { importMessages } from './messages.ts'
import { importModeration } from './moderation.ts'
import { readId, readInteger, readText, readTime, timestamp } from './values.ts'

/** Spaces and what is in them. Role permissions, visibility and channel types have no place here. */
export async function importSpaces(context: ImportContext): Promise<void> {
  const spaces = await importSpaceRows(context)
  await importMembers(context, spaces)
  const roles = await importRoles(context, spaces)
  const channels = await importChannels(context, spaces, roles)
  await importMessages(context, channels)
  await importModeration(context, spaces)
}

type Ids = ReadonlySet<string>

async function importSpaceRows(context: ImportContext): Promise<Ids> {
  const { report, source, liveUsers } = context
  const heirs = new Map<string, string>()
  for (const row of [...source.rows('space_members')].toSorted(
    (a, b) => Number(readInteger(a['joined_at']) ?? 0n) - Number(readInteger(b['joined_at']) ?? 0n),
  )) {
    const [space, user] = [readId(row['space_id']), readId(row['user_id'])]
    if (space && user && liveUsers.has(user) && !heirs.has(space)) heirs.set(space, user)
  }
  const spaces = new Set<string>()
  await importTable(context, {
    from: 'spaces',
    to: 'spaces',
    columns: ['id', 'name', 'owner_id'],
    map: (row) => {
      const id = readId(row['id'])
      if (id === null || spaces.has(id)) return 'its id cannot be read'
      const owner = readId(row['owner_id'])
      const lives = owner !== null && liveUsers.has(owner)
      const ownerId = lives ? owner : heirs.get(id)
      if (ownerId === undefined) return 'it has no live owner and no live member'
      if (!lives) report.tell('spaces', id, `its owner is gone: the longest-standing member ${ownerId} owns it`)
      spaces.add(id)
      return { id, name: readText(row['name']) ?? '', owner_id: ownerId }
    },
  })
  return spaces
}

async function importMembers(context: ImportContext, spaces: Ids): Promise<void> {
  const seen = new Set<string>()
  await importTable(context, {
    from: 'space_members',
    to: 'space_members',
    columns: ['space_id', 'user_id', 'joined_at'],
    key: (row) => `${readText(row['space_id'])}/${readText(row['user_id'])}`,
    map: (row) => {
      const [space, user] = [readId(row['space_id']), readId(row['user_id'])]
      if (!space || !spaces.has(space) || !user || !context.liveUsers.has(user))
        return 'its space or live user is missing'
      return (
        once(seen, `${space} ${user}`) ?? {
          space_id: space,
          user_id: user,
          joined_at: timestamp(readTime(row['joined_at'], space)),
        }
      )
    },
  })
}

async function importRoles(context: ImportContext, spaces: Ids): Promise<ReadonlyMap<string, string>> {
  const roles = new Map<string, string>()
  await importTable(context, {
    from: 'roles',
    to: 'roles',
    columns: ['id', 'space_id', 'name'],
    map: (row) => {
      const [id, space] = [readId(row['id']), readId(row['space_id'])]
      if (id === null || roles.has(id) || space === null || !spaces.has(space)) return 'its space is missing'
      roles.set(id, space)
      return { id, space_id: space, name: readText(row['name']) ?? '' }
    },
  })
  const seen = new Set<string>()
  await importTable(context, {
    from: 'member_roles',
    to: 'role_assignments',
    columns: ['role_id', 'user_id'],
    key: (row) => `${readText(row['role_id'])}/${readText(row['user_id'])}`,
    map: (row) => {
      const [role, user] = [readId(row['role_id']), readId(row['user_id'])]
      if (!role || roles.get(role) !== readId(row['space_id'])) return 'its role is missing or of another space'
      if (!user || !context.liveUsers.has(user)) return 'its user is missing'
      return once(seen, `${role} ${user}`) ?? { role_id: role, user_id: user }
    },
  })
  return roles
}

async function importChannels(context: ImportContext, spaces: Ids, roles: ReadonlyMap<string, string>): Promise<Ids> {
  const channels = new Set<string>()
  await importTable(context, {
    from: 'channels',
    to: 'channels',
    columns: ['id', 'space_id', 'name'],
    map: (row) => {
      const [id, space] = [readId(row['id']), readId(row['space_id'])]
      if (id === null || channels.has(id) || space === null || !spaces.has(space)) return 'its space is missing'
      channels.add(id)
      return { id, space_id: space, name: readText(row['name']) ?? '' }
    },
  })
  const seen = new Set<string>()
  await importTable(context, {
    from: 'channel_overrides',
    to: 'channel_overrides',
    columns: ['channel_id', 'target_type', 'target_id', 'allow', 'deny'],
    key: (row) => `${readText(row['channel_id'])}/${readText(row['target_id'])}`,
    map: (row) => {
      const [channel, type, target] = [
        readId(row['channel_id']),
        readText(row['target_type']),
        readId(row['target_id']),
      ]
      const [allow, deny] = [readBits(row['allow']), readBits(row['deny'])]
      if (!channel || !channels.has(channel)) return 'its channel is missing'
      const isKnown =
        target !== null && (type === 'role' ? roles.has(target) : type === 'member' && isUser(context, target))
      if (!isKnown || allow === null || deny === null) return 'its target or bits cannot be read'
      return (
        once(seen, `${channel} ${type} ${target}`) ?? {
          channel_id: channel,
          target_type: type,
          target_id: target,
          allow,
          deny,
        }
      )
    },
  })
  return channels
}

/** A set of bits: a decimal number that fits 64 bits; nothing is the empty set. */
function readBits(value: unknown): string | null {
  const bits = value == null || value === '' ? 0n : readInteger(value)
  return bits === null || bits < 0n || bits > 2n ** 63n - 1n ? null : String(bits)
}
