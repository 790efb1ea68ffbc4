import { LeftBehind, importTable, isUser, once, type ImportContext } from './context.ts'
import { readId, readText, readTime, timestamp } from './values.ts'

type Ids = ReadonlySet<string>

/** Messages of spaces with what hangs on them. */
export async function importMessages(context: ImportContext, channels: Ids): Promise<void> {
  const messages = await importMessageRows(context, {
    from: 'messages',
    to: 'messages',
    parent: 'channel_id',
    channels,
  })
  const reactions = { from: 'reactions', to: 'message_reactions' }
  await importBelongings(context, messages, { attachments: 'message_attachments', reactions, parent: 'message_id' })
  await importTable(context, {
    from: 'embeds',
    to: 'message_embeds',
    columns: ['id', 'message_id', 'url'],
    map: (row) => {
      const [id, messageId, url] = [readId(row['id']), readId(row['message_id']), readText(row['url'])]
      if (row['message_id'] == null) return new LeftBehind('embeds of direct messages')
      return id && messageId && messages.has(messageId) && url
        ? { id, message_id: messageId, url }
        : 'its message is missing'
    },
  })
}

type MessageTable = { from: string; to: string; parent: string; channels: Ids }

/** Messages of spaces, or of direct conversations. */
export async function importMessageRows(
  context: ImportContext,
  { from, to, parent, channels }: MessageTable,
): Promise<Ids> {
  const messages = new Set<string>()
  let systemMessages = 0
  await importTable(context, {
    from,
    to,
    columns: ['id', 'channel_id', 'author_id', 'content', 'created_at'],
    map: (row) => {
      const [id, channel, author] = [readId(row['id']), readId(row[parent]), readId(row['user_id'])]
      if (id === null || messages.has(id)) return 'its id cannot be read'
      if (channel === null || !channels.has(channel)) return 'its channel is missing'
      if (!isUser(context, author)) return 'its author is missing'
      messages.add(id)
      if (row['type'] === 'system') systemMessages += 1
      return {
        id,
        channel_id: channel,
        author_id: author,
        content: readText(row['content']) ?? '',
        created_at: timestamp(readTime(row['created_at'], id)),
      }
    },
  })
  if (systemMessages > 0)
    context.report.note(`${systemMessages} of the ${to} are notices of the system: JSON, no text for people`)
  return messages
}

type Belongings = { attachments: string; reactions: { from: string; to: string }; parent: string }

/** Attachments and reactions of messages; the files of attachments are copied. */
export async function importBelongings(
  context: ImportContext,
  messages: Ids,
  { attachments, reactions, parent }: Belongings,
): Promise<void> {
  const own = {
    ...context,
    source: { ...context.source, rows: (table: string) => rowsWith(context.source.rows(table), parent) },
  }
  const ids = new Set<string>()
  await importTable(own, {
    from: 'attachments',
    to: attachments,
    columns: ['id', 'message_id', 'filename'],
    map: (row) => {
      const [id, message, filename] = [readId(row['id']), readId(row[parent]), readText(row['filename'])]
      if (!id || ids.has(id) || !message || !messages.has(message) || !filename) return 'its message is missing'
      ids.add(id)
      context.files.push({ name: filename, owner: null })
      return { id, message_id: message, filename }
    },
  })
  const seen = new Set<string>()
  await importTable(context, {
    ...reactions,
    columns: ['message_id', 'user_id', 'emoji'],
    map: (row) => {
      const [message, user, emoji] = [
        readId(row[parent]) ?? readId(row['message_id']),
        readId(row['user_id']),
        readText(row['emoji']),
      ]
      if (!message || !messages.has(message) || !user || !context.liveUsers.has(user) || !emoji)
        return 'its message or user is missing'
      return once(seen, `${message} ${user} ${emoji}`) ?? { message_id: message, user_id: user, emoji }
    },
  })
}

function* rowsWith(rows: Iterable<Record<string, unknown>>, column: string) {
  for (const row of rows) if (row[column] != null) yield row
}
