import type { AuditAction } from '@gatehouse/contracts'
import { AuditEntry, User, plainUserProperties, sanitizeUser } from '@gatehouse/domain'
import { insertUser, openMigratedDatabase } from '@gatehouse/test-kit'
import type { MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { nextId, recordAudit } from '../src/instance.ts'
import { bigintArray, columnsOf, findPage, read } from '../src/rows.ts'

describe('rows', () => {
  let database: Awaited<ReturnType<typeof openMigratedDatabase>>
  let orm: MikroORM
  before(async () => {
    database = await openMigratedDatabase()
    orm = database.orm
  })
  after(async () => await database[Symbol.asyncDispose]())

  const readPlain = async (id: string) => {
    const em = orm.em.fork()
    const columns = columnsOf(em, User, plainUserProperties)
    const sql = `select ${columns.sql}, instance_name from users, instance_settings where users.id = any(?::bigint[])`
    const [row] = await read<{ instance_name: string }>(em, sql, [bigintArray([id, '1'])])
    return columns.read(row!)
  }

  it('read without entities hold what the entity holds, but for the password hash', async () => {
    const { id } = await insertUser(database, {
      displayName: 'Ada',
      avatarColor: 'mint',
      isAdmin: true,
      passwordChangedAt: 1_700_000_000_001,
      profileUpdatedAt: 5,
      replicatedInstances: [{ origin: 'https://a.example', username: 'ada' }],
    })
    const entity = await orm.em.fork().findOneOrFail(User, { id })

    const plain = await readPlain(id)

    for (const property of plainUserProperties) expect(plain[property], property).to.deep.equal(entity[property])
    expect(Object.keys(plain)).to.have.members([...plainUserProperties, 'instance_name'])
    expect(plain).to.not.have.property('passwordHash')
    expect(sanitizeUser(plain, true)).to.deep.equal(sanitizeUser(entity, true))
  })

  it('of replicated instances are a list; stored entries that cannot be read are left out and stay until it changes', async () => {
    const { id } = await insertUser(database)
    const entry = { origin: 'https://a.example', username: 'ada' }
    const store = (json: string) =>
      orm.em.fork().execute('update users set replicated_instances = ? where id = ?', [json, id])
    const readInstances = async () => (await orm.em.fork().findOneOrFail(User, { id })).replicatedInstances

    for (const damaged of ['', '{', 'null', '{"origin":1}', '[1,null,{"origin":"https://a.example"}]']) {
      await store(damaged)
      expect(await readInstances(), damaged).to.deep.equal([])
      expect((await readPlain(id)).replicatedInstances, damaged).to.deep.equal([])
    }
    await store(JSON.stringify([entry, { origin: 7 }]))
    expect(await readInstances()).to.deep.equal([entry])

    await orm.em.fork().transactional(async (em) => {
      const user = await em.findOneOrFail(User, { id })
      user.replicatedInstances = [...user.replicatedInstances, { origin: 'https://b.example', username: 'ada' }]
    })
    const [row] = await read<{ json: string }>(
      orm.em.fork(),
      'select replicated_instances as json from users where id = ?',
      [id],
    )
    expect(JSON.parse(row!.json)).to.deep.equal([entry, { origin: 'https://b.example', username: 'ada' }])
  })

  it('page by id, newest first, and the last page says that it is the last', async () => {
    const em = orm.em.fork()
    const { id: userId, username } = await insertUser(database)
    for (const action of ['a', 'b', 'c', 'other', 'd']) {
      const target = { type: 'user', id: null } as const
      recordAudit(em, { action: action as AuditAction, actor: { userId, username }, target, at: new Date(7) })
      await em.flush()
    }
    const where = { action: { $ne: 'other' } }
    const page = async (limit: number, cursor?: string) => {
      const { rows, nextCursor } = await findPage(orm.em.fork(), AuditEntry, { where, limit, cursor })
      return { actions: rows.map(({ action }) => action).join(''), nextCursor }
    }

    const first = await page(3)
    expect(first.actions).to.equal('dcb')
    expect(await page(3, first.nextCursor!)).to.deep.equal({ actions: 'a', nextCursor: null })
    expect(await page(4)).to.deep.equal({ actions: 'dcba', nextCursor: null })
    expect(await page(1, '0')).to.deep.equal({ actions: '', nextCursor: null })
  })

  /** Contract: 1, Ids and times. */
  it('of the audit log have new ids like everything else, above those that were counted from 1', async () => {
    const em = orm.em.fork()
    const { id: userId, username } = await insertUser(database)
    const counted = "insert into audit_log (id, action, target_type) values (1, 'old1', 'user'), (2, 'old2', 'user')"
    await em.execute(counted)
    const before = BigInt(await nextId(em))
    const record = { actor: { userId, username }, target: { type: 'user', id: null } as const, at: new Date(7) }
    for (const action of ['new1', 'new2']) recordAudit(em, { ...record, action: action as AuditAction })
    await em.flush()
    const after = BigInt(await nextId(em))

    const where = { action: { $in: ['old1', 'old2', 'new1', 'new2'] } }
    const first = await findPage(orm.em.fork(), AuditEntry, { where, limit: 3 })
    const second = await findPage(orm.em.fork(), AuditEntry, { where, limit: 3, cursor: first.nextCursor! })

    expect(first.rows.map(({ action }) => action)).to.deep.equal(['new2', 'new1', 'old2'])
    expect(second.rows.map(({ id, action }) => [id, action])).to.deep.equal([['1', 'old1']])
    const [newer, older] = first.rows.map(({ id }) => BigInt(id))
    expect(before < older! && older! < newer! && newer! < after).to.equal(true)
  })
})
