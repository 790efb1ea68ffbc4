import type { User } from '@gatehouse/domain'
import { allowLongWork, nextId, read } from '@gatehouse/database'
import type { TestIdentity } from './harness.ts'

type Where = Pick<TestIdentity, 'deps'>
type Row = Record<string, unknown>

/** Puts a row into a table of the chat system. */
export async function insertRow({ deps }: Where, table: string, row: Row): Promise<void> {
  const names = Object.keys(row)
  const marks = names.map(() => '?').join(', ')
  await deps.orm.em.fork().execute(`insert into ${table} (${names.join(', ')}) values (${marks})`, Object.values(row))
}

/** Many rows at once: on a slow machine they take longer than a statement of a service may. */
export async function insertMany({ deps }: Where, sql: string, parameters: unknown[]): Promise<void> {
  await deps.orm.em.fork().transactional(async (em) => {
    await allowLongWork(em)
    await em.execute(sql, parameters)
  })
}

/** The rows a query finds, as the database gives them. */
export async function rowsOf({ deps }: Where, sql: string, parameters: unknown[] = []): Promise<Row[]> {
  return await read<Row>(deps.orm.em.fork(), sql, parameters)
}

/** One column of what a query finds, in words. */
export async function column({ deps }: Where, sql: string, parameters: unknown[] = []): Promise<string[]> {
  const rows = await read<Row>(deps.orm.em.fork(), sql, parameters)
  return rows.map((row) => String(Object.values(row)[0]))
}

async function insertWithId(identity: Where, table: string, row: Row): Promise<string> {
  const id = await nextId(identity.deps.orm.em.fork())
  await insertRow(identity, table, { id, ...row })
  return id
}

export async function buildSpace(identity: Where, owner: Pick<User, 'id'>, name = 'a space'): Promise<string> {
  return await insertWithId(identity, 'spaces', { name, owner_id: owner.id })
}

export async function buildChannel(identity: Where, spaceId: string): Promise<string> {
  return await insertWithId(identity, 'channels', { space_id: spaceId, name: 'general' })
}

export async function buildRole(identity: Where, spaceId: string): Promise<string> {
  return await insertWithId(identity, 'roles', { space_id: spaceId, name: 'helper' })
}

/** A message in a space with an attachment, an embed and a reaction of each of `reactors`. */
export async function buildMessage(
  identity: Where,
  given: { channelId: string; author: Pick<User, 'id'>; filename?: string; reactors?: Pick<User, 'id'>[] },
): Promise<string> {
  const message = { channel_id: given.channelId, author_id: given.author.id, content: 'hello' }
  const id = await insertWithId(identity, 'messages', message)
  await insertWithId(identity, 'message_attachments', { message_id: id, filename: given.filename ?? `${id}.png` })
  await insertWithId(identity, 'message_embeds', { message_id: id, url: 'https://example.com/' })
  for (const { id: userId } of given.reactors ?? []) {
    await insertRow(identity, 'message_reactions', { message_id: id, user_id: userId, emoji: 'yes' })
  }
  return id
}

/** A direct message channel; its members joined in the order given. */
export async function buildDirectMessages(
  identity: Where,
  given: { members: Pick<User, 'id'>[]; owner?: Pick<User, 'id'> },
): Promise<string> {
  const id = await insertWithId(identity, 'dm_channels', {
    is_group: given.owner !== undefined,
    owner_id: given.owner?.id ?? null,
  })
  for (const [index, member] of given.members.entries()) {
    const joined = new Date(Date.UTC(2026, 0, 1, 0, index))
    await insertRow(identity, 'dm_members', { channel_id: id, user_id: member.id, joined_at: joined })
  }
  return id
}

/** A direct message with an attachment and a reaction of each of `reactors`. */
export async function buildDirectMessage(
  identity: Where,
  given: { channelId: string; author: Pick<User, 'id'>; filename?: string; reactors?: Pick<User, 'id'>[] },
): Promise<string> {
  const id = await insertWithId(identity, 'dm_messages', { channel_id: given.channelId, author_id: given.author.id })
  await insertWithId(identity, 'dm_attachments', { message_id: id, filename: given.filename ?? `${id}.png` })
  for (const { id: userId } of given.reactors ?? []) {
    await insertRow(identity, 'dm_reactions', { message_id: id, user_id: userId, emoji: 'yes' })
  }
  return id
}

/** A friend request or another row with an id of its own. */
export async function buildRow(identity: Where, table: string, row: Row): Promise<string> {
  return await insertWithId(identity, table, row)
}
