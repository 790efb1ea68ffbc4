import { User } from '@gatehouse/domain'
import { toErrorResponse } from '@gatehouse/runtime'
import { openMigratedDatabase } from '@gatehouse/test-kit'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { batchedRead, prepareRead } from '../src/batched-read.ts'
import { read } from '../src/rows.ts'
import { shortTransaction, transaction } from '../src/transaction.ts'

/** Of PostgreSQL's appendix of error codes: those of a server that cannot do the work now. */
const unavailable = [
  '08000',
  '08003',
  '08006',
  '08001',
  '08004',
  '08007',
  '08P01',
  '25006',
  '25P03',
  '25P04',
  '28000',
  '28P01',
  '3D000',
  '40001',
  '40P01',
  '42501',
  '53000',
  '53100',
  '53200',
  '53300',
  '53400',
  '55P03',
  '57000',
  '57014',
  '57P01',
  '57P02',
  '57P03',
  '57P04',
  '57P05',
  '58000',
  '58030',
  '58P01',
  '58P02',
  '58P03',
]
/** Neighbors of these among the faults of statements and data, and a damaged table, which no repetition mends. */
const internal = [
  '0A000',
  '22001',
  '23505',
  '25000',
  '25001',
  '25P01',
  '25P02',
  '26000',
  '3F000',
  '40002',
  '42601',
  '42P01',
  '54000',
  '54001',
  '55000',
  '55006',
  'P0001',
  'XX000',
  'XX001',
  'XX002',
]

const readRaised = prepareRead({
  name: 'test_raised',
  entity: User,
  properties: ['id'],
  where: 'raised($1) = users.id',
})
const batchRaised = batchedRead({ name: 'test_batch_raised', entity: User, properties: ['id'], key: 'id' })

describe('An error that PostgreSQL sends', () => {
  let database: AsyncDisposable & { orm: MikroORM }
  let orm: MikroORM
  before(async () => {
    database = await openMigratedDatabase({ connections: 2 })
    orm = database.orm
    await fork().execute(`insert into users (id, username, password_hash) values (1, 'ada', 'x')`)
    await fork().execute(
      `create function raised(state text) returns bigint language plpgsql as
       $$ begin raise exception using errcode = state; end $$`,
    )
  })
  after(async () => await database[Symbol.asyncDispose]())

  const fork = () => orm.em.fork()
  const raise = (em: EntityManager, state: string) => em.execute('select raised(?)', [state])
  const responseTo = async (work: Promise<unknown>) => {
    const { refusal } = await work.then(() => expect.fail('it was not raised'), toErrorResponse)
    return [refusal.status, refusal.code, refusal.headers['Retry-After']]
  }

  /** Contract: 8, PostgreSQL. */
  it('is 503 with Retry-After where the server cannot do it now, and 500 where the statement is wrong', async () => {
    for (const state of unavailable)
      expect(await responseTo(raise(fork(), state)), state).to.deep.equal([503, 'unavailable', '1'])
    for (const state of internal)
      expect(await responseTo(raise(fork(), state)), state).to.deep.equal([500, 'internal', undefined])
  })

  it('is the same for every way to ask', async () => {
    const ways: Record<string, (state: string) => Promise<unknown>> = {
      transaction: (state) => transaction(orm, (em) => raise(em, state)),
      'transaction of the ORM': (state) => fork().transactional((em) => raise(em, state)),
      'short transaction': (state) => shortTransaction(orm.em, (own) => own.read('select raised(?)', [state])),
      'its last statement': (state) => shortTransaction(orm.em, (own) => own.commitWith('select raised(?)', [state])),
      'read with limits': (state) => read(fork(), 'select raised(?)', [state], { statementMs: 1_000, workMem: '4MB' }),
      'prepared read': (state) => readRaised(fork(), [state]),
    }
    for (const [name, ask] of Object.entries(ways)) {
      expect(await responseTo(ask('53100')), name).to.deep.equal([503, 'unavailable', '1'])
      expect(await responseTo(ask('42601')), name).to.deep.equal([500, 'internal', undefined])
    }
  })

  it('is the same at the end of a transaction, and for a batched read', async () => {
    await fork().execute(
      `create function raise_at_commit() returns trigger language plpgsql as
       $$ begin perform raised('53100'); return null; end $$;
       create constraint trigger at_commit after update on users deferrable initially deferred
       for each row execute function raise_at_commit();
       alter table users rename to all_users;
       create view users as select * from all_users where raised('58030') = id`,
    )
    const atCommit = transaction(orm, (em) => em.execute('update all_users set bio = null'))

    expect(await responseTo(atCommit)).to.deep.equal([503, 'unavailable', '1'])
    expect(await responseTo(batchRaised(fork(), '1'))).to.deep.equal([503, 'unavailable', '1'])
  })
})
