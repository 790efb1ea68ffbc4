import { importTable, importedId, type Ids, type ImportContext } from './context.ts'
import { readId, readText, readTimestamp } from './values.ts'

export async function importMessages(context: ImportContext, channels: Ids): Promise<void> {
  const messages = await importMessageRows(context, { table: 'messages', parent: 'channel_id', channels })
  const reactions = ['reactions', 'message_reactions'] as const
  await importBelongings(context, messages, { parent: 'message_id', attachments: 'message_attachments', reactions })
  await importTable(context, 'embeds', {
    to: 'message_embeds',
    map: (row) => {
      const [id, message, url] = [readId(row['id']), importedId(messages, row['message_id']), readText(row['url'])]
      if (row['message_id'] == null) return context.report.leaveBehind('embeds of direct messages')
      return id && message && url ? { id, message_id: message, url } : 'its message is missing'
    },
  })
}

type MessageTable = { table: string; parent: string; channels: Ids }

async function importMessageRows(context: ImportContext, { table, parent, channels }: MessageTable): Promise<Ids> {
  let systemMessages = 0
  const messages = await importTable(context, table, (row) => {
    const [id, channel] = [readId(row['id']), importedId(channels, row[parent])]
    const author = importedId(context.users, row['user_id'])
    if (id === null) return 'its id cannot be read'
    if (channel === null) return 'its channel is missing'
    if (author === null) return 'its author is missing'
    if (row['type'] === 'system') systemMessages += 1
    const content = readText(row['content']) ?? ''
    const created = readTimestamp(row['created_at'], id)
    return { id, channel_id: channel, author_id: author, content, created_at: created }
  })
  if (systemMessages > 0)
    context.report.note(`${systemMessages} of the ${table} are notices of the system: JSON, no text for people`)
  return messages
}

type Belongings = { attachments: string; reactions: readonly [from: string, to: string]; parent: string }

async function importBelongings(context: ImportContext, messages: Ids, belongings: Belongings): Promise<void> {
  const { source } = context
  const { attachments, reactions, parent } = belongings
  function* rows(table: string) {
    for (const row of source.rows(table)) if (row[parent] != null) yield row
  }
  const ofParent = { ...context, source: { ...source, rows } }
  await importTable(ofParent, 'attachments', {
    to: attachments,
    map: (row) => {
      const [id, message, name] = [readId(row['id']), importedId(messages, row[parent]), readText(row['filename'])]
      if (!id || !message || !name) return 'its message is missing'
      context.files.push({ name, owner: null })
      return { id, message_id: message, filename: name }
    },
  })
  await importTable(context, reactions[0], {
    to: reactions[1],
    unique: [['message_id', 'user_id', 'emoji']],
    map: (row) => {
      const message = importedId(messages, row[parent] ?? row['message_id'])
      const [user, emoji] = [importedId(context.liveUsers, row['user_id']), readText(row['emoji'])]
      if (!message || !user || !emoji) return 'its message or user is missing'
      return { message_id: message, user_id: user, emoji }
    },
  })
}

/** Deleted ones have no place here. */
export async function importConversations(context: ImportContext): Promise<void> {
  const channels = await importChannels(context)
  await importTable(context, 'dm_members', {
    unique: [['channel_id', 'user_id']],
    map: (row) => {
      const [id, user] = [importedId(channels, row['dm_channel_id']), importedId(context.users, row['user_id'])]
      const channel = channels.get(id ?? '')
      if (!channel || !user) return 'its conversation or user is missing'
      if (channel.isGroup && !context.liveUsers.has(user)) return 'a deleted account is in no group'
      return { channel_id: id, user_id: user, joined_at: channel.created }
    },
  })
  const messages = await importMessageRows(context, { table: 'dm_messages', parent: 'dm_channel_id', channels })
  const reactions = ['dm_reactions', 'dm_reactions'] as const
  await importBelongings(context, messages, { parent: 'dm_message_id', attachments: 'dm_attachments', reactions })
}

async function importChannels(context: ImportContext) {
  const { report, liveUsers, users } = context
  const members = new Map<string, string[]>()
  for (const row of context.source.rows('dm_members')) {
    const [channel, user] = [readId(row['dm_channel_id']), importedId(users, row['user_id'])]
    if (channel && user) members.set(channel, [...(members.get(channel) ?? []), user])
  }
  const channels = new Map<string, { isGroup: boolean; created: string }>()
  const deleted = 'deleted direct conversations'
  await importTable(context, 'dm_channels', (row) => {
    const id = readId(row['id'])
    if (id === null) return 'its id cannot be read'
    if (row['deleted_at'] != null) return report.leaveBehind(deleted)
    const isGroup = row['owner_id'] != null
    const [heir] = (members.get(id) ?? []).filter((user) => !isGroup || liveUsers.has(user))
    if (heir === undefined) return 'it has no members'
    const owner = isGroup ? (importedId(liveUsers, row['owner_id']) ?? heir) : null
    if (owner !== readId(row['owner_id']))
      report.tell('dm_channels', id, `the group's owner no longer exists: ${owner} owns it`)
    channels.set(id, { isGroup, created: readTimestamp(row['created_at'], id) })
    return { id, is_group: isGroup, owner_id: owner, name: readText(row['name']) }
  })
  const { [deleted]: count } = report.report.leftBehind
  if (count) report.note(`${count} ${deleted} were left out with all they hold`)
  return channels
}
