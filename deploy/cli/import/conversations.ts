import { LeftBehind, importTable, known, type ImportContext } from './context.ts'
import { importBelongings, importMessageRows } from './messages.ts'
import { readId, readText, readTime, timestamp } from './values.ts'

/** Deleted ones have no place here. */
export async function importConversations(context: ImportContext): Promise<void> {
  const channels = await importChannels(context)
  await importTable(context, {
    from: 'dm_members',
    to: 'dm_members',
    unique: [['channel_id', 'user_id']],
    map: (row) => {
      const [id, user] = [known(channels, row['dm_channel_id']), known(context.users, row['user_id'])]
      const channel = channels.get(id ?? '')
      if (!channel || !user) return 'its conversation or user is missing'
      if (channel.isGroup && !context.liveUsers.has(user)) return 'a deleted account is in no group'
      return { channel_id: id, user_id: user, joined_at: channel.created }
    },
  })
  const messages = await importMessageRows(context, { table: 'dm_messages', parent: 'dm_channel_id', channels })
  const tables = { attachments: 'dm_attachments', reactions: ['dm_reactions', 'dm_reactions'] as const }
  await importBelongings(context, messages, { ...tables, parent: 'dm_message_id' })
}

async function importChannels(context: ImportContext) {
  const { report, liveUsers, users } = context
  const members = new Map<string, string[]>()
  for (const row of context.source.rows('dm_members')) {
    const [channel, user] = [readId(row['dm_channel_id']), known(users, row['user_id'])]
    if (channel && user) members.set(channel, [...(members.get(channel) ?? []), user])
  }
  const channels = new Map<string, { isGroup: boolean; created: string }>()
  let deletedChannels = 0
  await importTable(context, {
    from: 'dm_channels',
    to: 'dm_channels',
    map: (row) => {
      const id = readId(row['id'])
      if (id === null) return 'its id cannot be read'
      if (row['deleted_at'] != null) {
        deletedChannels += 1
        return new LeftBehind('deleted direct conversations')
      }
      const isGroup = row['owner_id'] != null
      const [heir] = (members.get(id) ?? []).filter((user) => !isGroup || liveUsers.has(user))
      if (heir === undefined) return 'it has no members'
      const owner = isGroup ? (known(liveUsers, row['owner_id']) ?? heir) : null
      if (owner !== readId(row['owner_id']))
        report.tell('dm_channels', id, `the owner of the group is gone: ${owner} owns it`)
      channels.set(id, { isGroup, created: timestamp(readTime(row['created_at'], id)) })
      return { id, is_group: isGroup, owner_id: owner, name: readText(row['name']) }
    },
  })
  if (deletedChannels > 0)
    report.note(`${deletedChannels} deleted direct conversations were left out with all they hold`)
  return channels
}
