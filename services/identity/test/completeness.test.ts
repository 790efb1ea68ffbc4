import { readFileSync } from 'node:fs'
import { homeFields, profileFieldNames, profileFields } from '@gatehouse/contracts'
import { nextId, read } from '@gatehouse/database'
import { expect } from 'chai'
import { deleteLockedAccount } from '../src/operations/deletion/delete-account.ts'
import { ownFiles, ownRows } from '../src/operations/export/own-rows.ts'
import { mergedReferences } from '../src/operations/federation/reattach.ts'
import { lockUser } from '../src/queries/load-user.ts'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

type Excepted = Readonly<Record<string, string>>

/** Columns that end in a name of a person, and refer to no user. */
const noReferences: Excepted = {
  'users.home_user_id': 'the id at the home instance',
  'users.former_home_user_id': 'the id at the former home instance',
}
const keptByDeletion: Excepted = {
  'account_versions.user_id': 'it says when upstreams are told of the tombstone',
  'application_consents.account_id': 'openid removes it when the applications are told of the deletion; Contract: 3',
  'applications.created_by': 'the application outlives who added it',
  'upstream_deletions.user_id': 'it is open until the service has done it; Contract: 5',
  'deletion_orders.user_id': 'an order is tried for 30 days, also after the account is gone; Contract: 7',
  'audit_log.actor_id': 'the log says who acted; a page reads the name of a tombstone as Deleted User',
  'dm_messages.author_id': 'a conversation belongs to its other members too; Spec: Tombstone',
  'instance_settings.first_admin_id': 'it says that the first admin has been made, so that no other account becomes it',
  'invite_redemptions.user_id': 'a redemption is a record of the invite; its user reads as Deleted User',
  'invites.created_by': 'the invite outlives its creator; Contract: 4',
  'approval_requests.decided_by': 'a record of the peer; the admin reads as Deleted User',
  'approval_requests.requested_by': 'the wish for a peer, which admins decide and which ends after 30 days',
  'federation_deliveries.user_id': 'it ends with its delivery, which tells nothing of a tombstone',
  'presence_changes.user_id': 'it names the transaction that last changed the status',
  'users.recovery_admin_id': 'a link says who made it, so that it ends with that account; Contract: 3, recover',
  'spaces.owner_id': 'an account with spaces is not deleted; Spec: DELETE self 3',
}
const untoldByExport: Excepted = {
  'profile_askers.user_id': 'which instances asked for a profile is theirs to tell',
  'account_versions.user_id': 'it says when upstreams are told again',
  'applications.created_by': 'an act of an admin',
  'openid_rows.account_id': 'codes and tokens; what the person allowed is told',
  'approval_requests.decided_by': 'an act of an admin',
  'approval_requests.requested_by': 'it ends after 30 days',
  'attach_proofs.user_id': 'a secret of minutes',
  'audit_log.actor_id': 'acts of an admin are of the instance',
  'bans.banned_by': 'an act of a moderator',
  'bans.user_id': 'a record of the space',
  'channel_overrides.target_id': 'a record of the space',
  'dm_channels.owner_id': 'a record of the group',
  'dm_members.user_id': 'the conversation is told by its messages',
  'dm_reactions.user_id': 'a record of the message of another user',
  'federation_credentials.user_id': 'passwords of accounts elsewhere, which no archive holds; Contract: 3',
  'federation_deliveries.user_id': 'a queue of minutes',
  'federation_registries.user_id': 'the client keeps it',
  'instance_settings.first_admin_id': 'a fact of the instance',
  'invite_redemptions.user_id': 'a record of the invite',
  'join_requests.decided_by': 'an act of a moderator',
  'join_requests.user_id': 'a record of the space',
  'mails.user_id': 'a queue of a day',
  'message_reactions.user_id': 'a record of the message of another user',
  'presence_changes.user_id': 'it names the transaction that last changed the status',
  'presences.user_id': 'it lasts as long as a connection',
  'provider_flows.user_id': 'a secret of minutes',
  'provider_tickets.user_id': 'a secret of minutes',
  'read_states.user_id': 'a mark of the client',
  'registrations.user_id': 'the receipt of a registration that an admin approved, for 30 days',
  'replica_hosts.user_id': 'an index of lists that are told',
  'role_assignments.user_id': 'a record of the space',
  'space_folders.user_id': 'an order of the client',
  'users.recovery_admin_id': 'an act of an admin',
  'upstream_deletions.user_id': 'it begins with the deletion of the account',
  'voice_restrictions.moderator_id': 'an act of a moderator',
  'voice_restrictions.user_id': 'a record of the space',
}
const forReason = (reason: string, names: readonly string[]): Excepted =>
  Object.fromEntries(names.map((name) => [name, reason]))
/** Of a stub, which becomes a tombstone. */
const leftByMerge: Excepted = {
  ...forReason('a stub has never logged in here', [
    'application_consents.account_id',
    'attach_proofs.user_id',
    'emails.user_id',
    'federation_credentials.user_id',
    'federation_registries.user_id',
    'invite_redemptions.user_id',
    'invites.created_by',
    'linked_identities.user_id',
    'mails.user_id',
    'openid_rows.account_id',
    'passkeys.user_id',
    'presence_changes.user_id',
    'presences.user_id',
    'provider_flows.user_id',
    'provider_tickets.user_id',
    'registrations.user_id',
    'second_factors.user_id',
    'sign_ins.user_id',
    'spaces.owner_id',
    'upstream_deletions.user_id',
  ]),
  ...forReason('a stub moderates nothing; protocol.md 4.6, step 4', [
    'applications.created_by',
    'approval_requests.decided_by',
    'approval_requests.requested_by',
    'audit_log.actor_id',
    'bans.banned_by',
    'instance_settings.first_admin_id',
    'join_requests.decided_by',
    'users.recovery_admin_id',
    'voice_restrictions.moderator_id',
  ]),
  ...forReason('it is about the stub as such, and ends with it', [
    'account_versions.user_id',
    'deletion_orders.user_id',
    'federation_deliveries.user_id',
    'profile_askers.user_id',
    'replica_hosts.user_id',
    'uploads.user_id',
  ]),
}
const keptByTombstone: Excepted = {
  home_instance: 'a deletion that is repeated finds the tombstone; Spec: Tombstone, resolver',
  home_user_id: 'as home_instance',
  password_changed_at: 'no earlier token is valid again; invariant 1',
  sessions_ended_at: 'it closes every socket; invariant 1',
}

const referencesSql = `
  select distinct c.table_name as "table", c.column_name as "column", c.table_name || '.' || c.column_name as name
  from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
  where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and (
    c.column_name ~ '(user|member|friend|author|actor|owner|moderator|admin|creator|target|person|account)_id$'
    or c.column_name ~ '_by$'
    or exists (
      select from pg_constraint f
      join pg_attribute a on a.attrelid = f.conrelid and a.attnum = any(f.conkey)
      where f.contype = 'f' and f.confrelid = 'users'::regclass and f.conrelid::regclass::text = c.table_name
        and a.attname = c.column_name
    ))
  order by 3`

type Reference = { table: string; column: string; name: string }

/** What the database's schema and the table of endpoints hold is dealt with, or is excepted by name and reason. */
describe('Completeness', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(() => identity[Symbol.asyncDispose]())

  const rowsOf = <Row extends object>(sql: string, parameters: unknown[] = []) =>
    read<Row>(identity.deps.orm.em.fork(), sql, parameters)

  async function listReferences(): Promise<Reference[]> {
    const all = await rowsOf<Reference>(referencesSql)
    return all.filter(({ name }) => !(name in noReferences) && name !== 'audit_log.target_id')
  }

  /** A row in which every column that needs a value has one, and `column` names the user. Foreign keys are not checked. */
  async function insertReference({ table, column }: Reference, userId: string): Promise<void> {
    const id = await nextId(identity.deps.orm.em.fork())
    type Column = { name: string; type: string; allowed: string | null }
    const columns = await rowsOf<Column>(
      `select c.column_name as name, c.data_type as type,
         (select substring(pg_get_constraintdef(k.oid) from '''([a-z_]+)''') from pg_constraint k
          join pg_attribute a on a.attrelid = k.conrelid and a.attnum = any(k.conkey)
          where k.contype = 'c' and k.conrelid = c.table_name::regclass and a.attname = c.column_name limit 1) as allowed
       from information_schema.columns c where c.table_name = ? and c.is_nullable = 'NO' and c.column_default is null
         and c.is_identity = 'NO' and c.column_name <> ?`,
      [table, column],
    )
    const valueOf = ({ type, allowed, name }: Column): unknown => {
      if (name === 'target_type') return 'member'
      if (allowed) return allowed
      if (type === 'uuid') return crypto.randomUUID()
      if (type.startsWith('timestamp')) return new Date()
      if (type === 'jsonb') return '[]'
      return type === 'boolean' ? false : type === 'text' ? `t${id}` : type === 'integer' ? 1 : id
    }
    const names = [column, ...columns.map(({ name }) => name)]
    const places = names.map(() => '?').join(', ')
    await identity.deps.orm.em.fork().transactional(async (em) => {
      await em.execute('set local session_replication_role = replica')
      const sql = `insert into ${table} (${names.join(', ')}) values (${places})`
      await em.execute(sql, [userId, ...columns.map(valueOf)])
    })
  }

  const countReferences = async ({ table, column }: Reference, userId: string) =>
    (await rowsOf(`select 1 from ${table} where ${column} = ?`, [userId])).length

  it('of the deletion: no row of any table refers to a tombstone', async () => {
    const references = await listReferences()
    expect(references).to.have.length.above(20)
    const left: string[] = []
    for (const reference of references.filter(({ name }) => !(name in keptByDeletion))) {
      const { id } = await buildUser(identity)
      await insertReference(reference, id)
      expect(await countReferences(reference, id), reference.name).to.equal(1)
      await identity.deps.orm.em.fork().transactional(async (em) => {
        const user = (await lockUser(em, id))!
        await deleteLockedAccount(identity.deps, em, {
          user,
          mode: 'full',
          actor: null,
          requestId: undefined,
          audience: [],
        })
      })
      if ((await countReferences(reference, id)) > 0) left.push(reference.name)
    }

    expect(left).to.deep.equal([])
    const names = references.map(({ name }) => name)
    expect(Object.keys(keptByDeletion).filter((name) => !names.includes(name))).to.deep.equal([])
  })

  it('of the merge of a stub: every reference moves to the account, or is left for a reason', async () => {
    const moved = [...mergedReferences.map(({ table, column }) => `${table}.${column}`), 'channel_overrides.target_id']
    const left = (await listReferences()).map(({ name }) => name).filter((name) => !moved.includes(name))

    expect(left.toSorted()).to.deep.equal(Object.keys(leftByMerge).toSorted())
  })

  it('of the export: every reference to a user is read', async () => {
    const statements = [...ownRows, ...ownFiles].map(({ sql }) => sql)
    const isRead = ({ table, column }: Reference) =>
      table === 'invites' || statements.some((sql) => new RegExp(`\\b${table}\\b`).test(sql) && sql.includes(column))
    const unread = (await listReferences()).filter((reference) => !isRead(reference)).map(({ name }) => name)

    expect(unread.toSorted()).to.deep.equal(Object.keys(untoldByExport).toSorted())
  })

  it('of the tombstone: every column that may be null is null', async () => {
    const sql = `select column_name as name, data_type as type from information_schema.columns
      where table_name = 'users' and table_schema = 'public' and is_nullable = 'YES'`
    const nullable = await rowsOf<{ name: string; type: string }>(sql)
    const { id } = await buildUser(identity)
    // It forbids that an account is detached and has a home at once: every column has a value here.
    await identity.deps.orm.em.fork().execute('alter table users drop constraint users_detached_check')
    const values = nullable.map(({ name, type }) => `${name} = ${type === 'bigint' ? '1' : `'x'`}`)
    await identity.deps.orm.em.fork().execute(`update users set ${values.join(', ')} where id = ?`, [id])
    await identity.deps.orm.em.fork().transactional(async (em) => {
      const user = (await lockUser(em, id))!
      await deleteLockedAccount(identity.deps, em, {
        user,
        mode: 'soft',
        actor: null,
        requestId: undefined,
        audience: [],
      })
    })

    const [row] = await rowsOf<Record<string, unknown>>('select * from users where id = ?', [id])
    const kept = nullable.map(({ name }) => name).filter((name) => row![name] !== null)
    expect(kept.toSorted()).to.deep.equal(Object.keys(keptByTombstone).toSorted())
  })

  it('of the home: a federated account edits only the fields that are a matter of this instance', async () => {
    const own: Excepted = {
      customStatus: 'it says what the person is doing here',
      discoverable: 'it decides what this instance shows',
      showActivity: 'it decides what this instance shows',
    }
    const user = await buildUser(identity, { username: 'eve@home.example', homeInstance: 'home.example' })
    for (const field of profileFieldNames) {
      const body = { [field]: profileFields[field].kind === 'flag' ? true : null }
      const { status } = await identity.call('PATCH', '/api/users/@me', { as: user, body })
      expect(status === 403, field).to.equal(!(field in own))
    }
    expect([...homeFields, ...Object.keys(own)]).to.have.members(profileFieldNames)
  })

  it('of docs/contract.md: it names every field of a profile, and the limit of each text', () => {
    const page = readFileSync(new URL('../../../docs/contract.md', import.meta.url), 'utf8')
    const isNamed = (name: (typeof profileFieldNames)[number]): boolean => {
      const { kind } = profileFields[name]
      const limit = kind === 'text' ? `[^.;]*?\\b${profileFields[name].max}\\b` : ''
      return new RegExp(`\\b${name}\\b${limit}`).test(page)
    }

    expect(profileFieldNames.filter((name) => !isNamed(name))).to.deep.equal([])
  })
})
