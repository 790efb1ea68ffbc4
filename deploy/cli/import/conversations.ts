import { LeftBehind, double, importTable, isUser, type ImportContext } from './context.ts'
import { importBelongings, importMessageRows } from './messages.ts'
import { readId, readText, readTime, timestamp } from './values.ts'

/** Direct conversations with their messages. Deleted ones have no place here. */
export async function importConversations(context: ImportContext): Promise<void> {
  const channels = await importChannels(context)
  await importMembers(context, channels)
  const messages = await importMessageRows(context, {
    from: 'dm_messages',
    to: 'dm_messages',
    parent: 'dm_channel_id',
    channels: new Set(channels.keys()),
  })
  const reactions = { from: 'dm_reactions', to: 'dm_reactions' }
  await importBelongings(context, messages, { attachments: 'dm_attachments', reactions, parent: 'dm_message_id' })
}

type Channels = ReadonlyMap<string, { isGroup: boolean; created: string }>

function readMembers(context: ImportContext): ReadonlyMap<string, string[]> {
  const members = new Map<string, string[]>()
  for (const row of context.source.rows('dm_members')) {
    const [channel, user] = [readId(row['dm_channel_id']), readId(row['user_id'])]
    if (channel && isUser(context, user)) members.set(channel, [...(members.get(channel) ?? []), user])
  }
  return members
}

async function importChannels(context: ImportContext): Promise<Channels> {
  const { report, liveUsers } = context
  const members = readMembers(context)
  const channels = new Map<string, { isGroup: boolean; created: string }>()
  let deletedChannels = 0
  await importTable(context, {
    from: 'dm_channels',
    to: 'dm_channels',
    columns: ['id', 'is_group', 'owner_id', 'name'],
    map: (row) => {
      const id = readId(row['id'])
      if (id === null || channels.has(id)) return 'its id cannot be read'
      if (row['deleted_at'] != null) {
        deletedChannels += 1
        return new LeftBehind('deleted direct conversations')
      }
      const isGroup = row['owner_id'] != null
      const present = (members.get(id) ?? []).filter((user) => !isGroup || liveUsers.has(user))
      if (present.length === 0) return 'it has no members'
      const owner = readId(row['owner_id'])
      const ownerId = !isGroup ? null : owner !== null && liveUsers.has(owner) ? owner : (present[0] ?? null)
      if (isGroup && ownerId !== owner)
        report.tell('dm_channels', id, `the owner of the group is gone: ${ownerId} owns it`)
      channels.set(id, { isGroup, created: timestamp(readTime(row['created_at'], id)) })
      return { id, is_group: isGroup, owner_id: ownerId, name: readText(row['name']) }
    },
  })
  if (deletedChannels > 0)
    report.note(`${deletedChannels} deleted direct conversations were left out with all they hold`)
  return channels
}

async function importMembers(context: ImportContext, channels: Channels): Promise<void> {
  const seen = new Set<string>()
  await importTable(context, {
    from: 'dm_members',
    to: 'dm_members',
    columns: ['channel_id', 'user_id', 'joined_at'],
    key: (row) => `${readText(row['dm_channel_id'])}/${readText(row['user_id'])}`,
    map: (row) => {
      const [id, user] = [readId(row['dm_channel_id']), readId(row['user_id'])]
      const channel = id === null ? undefined : channels.get(id)
      if (!channel || !isUser(context, user)) return 'its conversation or user is missing'
      if (channel.isGroup && !context.liveUsers.has(user)) return 'a deleted account is in no group'
      if (seen.has(`${id} ${user}`)) return double
      seen.add(`${id} ${user}`)
      return { channel_id: id, user_id: user, joined_at: channel.created }
    },
  })
}
