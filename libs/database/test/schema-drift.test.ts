import { openMigratedDatabase } from '@gatehouse/test-kit'
import { MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { databaseOptions } from '../src/open-database.ts'

/** Tables of the chat system: the deletion of an account touches them in raw SQL, other services own them. */
const chatTables = [
  'bans',
  'channel_overrides',
  'channels',
  'dm_attachments',
  'dm_channels',
  'dm_members',
  'dm_messages',
  'dm_reactions',
  'friend_requests',
  'friendships',
  'join_requests',
  'message_attachments',
  'message_embeds',
  'message_reactions',
  'messages',
  'read_states',
  'role_assignments',
  'roles',
  'space_folders',
  'space_members',
  'spaces',
  'voice_restrictions',
]

/** What only the migrations say; an entity that said it too would be a second place to keep in step. */
const onlyInMigrations = {
  'foreign keys': /^alter table "\w+" drop constraint "\w+_fkey"$/,
  checks: /^alter table "\w+" drop constraint "(\w+_check|users_home_user_needs_home|invites_not_overdrawn)"$/,
  indexes: /^drop index "\w+"$/,
  'defaults for rows that are inserted by hand: the services give these values':
    /^alter table "\w+" alter column "\w+" drop default$/,
  triggers: /^drop (trigger|function) if exists "\w*(replica_hosts|users_versions|account_told)\w*"/,
  'policies, which come with the grants':
    /^(drop policy "gatehouse_\w+" on "outbox"|alter table "outbox" disable row level security)$/,
  'the index of names': /^drop function if exists "(fold_names|starts_word|parts_of_names)"/,
  'the id generator': /^drop function if exists "next_snowflake"\(\)$/,
}

describe('The entities', () => {
  it('have the columns, types, defaults and unique constraints of the migrated schema', async () => {
    await using database = await openMigratedDatabase()

    expect(await differences(database.url)).to.deep.equal([])
  })

  it('differ visibly when a column is missing on either side, or has another type or nullability', async () => {
    await using database = await openMigratedDatabase()
    const em = database.orm.em.fork()
    await em.execute('alter table users add column shoe_size text')
    await em.execute('alter table uploads drop column mimetype')
    await em.execute('alter table invites alter column name drop not null')
    await em.execute('alter table audit_log alter column action type varchar(10)')
    await em.execute('create table drafts (id bigint primary key)')

    expect(await differences(database.url)).to.have.members([
      'alter table "users" drop column "shoe_size"',
      'alter table "uploads" add "mimetype" text not null',
      'alter table "invites" alter column "name" set not null',
      'alter table "audit_log" alter column "action" type text using ("action"::text)',
      'drop table if exists "drafts" cascade',
    ])
  })
})

/** The statements that would turn the schema into that of the entities, without those that are expected. */
async function differences(url: string): Promise<string[]> {
  await using opening = new AsyncDisposableStack()
  const options = { ...databaseOptions({ url }), schemaGenerator: { skipTables: chatTables } }
  const orm = opening.adopt(new MikroORM(options), (open) => open.close(true))
  const sql = await orm.schema.getUpdateSchemaSQL({ wrap: false })
  const statements = sql.split(/;\n+/).filter((statement) => statement.trim() !== '')
  const expected = Object.values(onlyInMigrations)
  return statements.filter((statement) => !expected.some((pattern) => pattern.test(statement)))
}
