import { double, importTable, type ImportContext } from './context.ts'
import { readId, readInteger, readText } from './values.ts'

/** What users have read, and the folders of their spaces. */
export async function importReadStates(context: ImportContext): Promise<void> {
  const seen = new Set<string>()
  await importTable(context, {
    from: 'read_states',
    to: 'read_states',
    columns: ['user_id', 'channel_id', 'last_read_id'],
    key: (row) => `${readText(row['user_id'])}/${readText(row['channel_id'])}`,
    map: (row) => {
      const [user, channel] = [readId(row['user_id']), readId(row['channel_id'])]
      if (!user || !context.liveUsers.has(user) || !channel) return 'its user is missing'
      if (seen.has(`${user} ${channel}`)) return double
      seen.add(`${user} ${channel}`)
      return { user_id: user, channel_id: channel, last_read_id: readId(row['last_read_message_id']) }
    },
  })
  const folders = new Set<string>()
  await importTable(context, {
    from: 'space_folders',
    to: 'space_folders',
    columns: ['id', 'user_id', 'name', 'position'],
    map: (row) => {
      const [id, user] = [readId(row['id']), readId(row['user_id'])]
      if (!id || folders.has(id) || !user || !context.liveUsers.has(user)) return 'its user is missing'
      folders.add(id)
      const position = readInteger(row['position']) ?? 0n
      return { id, user_id: user, name: readText(row['name']), position: Number(BigInt.asIntN(32, position)) }
    },
  })
}
