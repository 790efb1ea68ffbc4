import { expect } from 'chai'
import { Redis } from 'ioredis'
import { connect } from 'nats'
import pg from 'pg'
import { testDatabase, testNats, testRedis } from '../src/index.ts'

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

describe('a resource of a test on a server that tests share', () => {
  it('is an empty database that is dropped on dispose, also with open connections', async () => {
    const database = await testDatabase()
    const lingering = new pg.Client({ connectionString: database.url })
    lingering.on('error', () => undefined)
    await lingering.connect()
    await lingering.query('create table things (id int)')

    await database[Symbol.asyncDispose]()

    const gone = await query(database.url, 'select 1').catch((error: unknown) => error)
    expect(gone).to.have.property('code', '3D000')
  })

  it('is a copy of a template that only the first of many callers builds', async () => {
    let builds = 0
    const template = {
      key: `test ${process.pid} ${performance.now()}`,
      async build(url: string) {
        builds += 1
        await query(url, 'create table things as select 1 as id')
      },
    }

    const databases = await Promise.all(Array.from({ length: 8 }, () => testDatabase({ template })))
    await query(databases[0]?.url ?? '', 'insert into things values (2)')

    expect(builds).to.equal(1)
    expect(await query(databases[7]?.url ?? '', 'select id from things')).to.deep.equal([{ id: 1 }])
    await Promise.all(databases.map((database) => database[Symbol.asyncDispose]()))
  })

  it('leaves no unfinished template when building it fails', async () => {
    const key = `test ${process.pid} ${performance.now()}`
    const failing = { key, build: () => Promise.reject(new Error('no build')) }
    const working = { key, build: async (url: string) => void (await query(url, 'create table things (id int)')) }

    const failure = await testDatabase({ template: failing }).catch((error: unknown) => error)
    await using database = await testDatabase({ template: working })

    expect(failure).to.have.property('message', 'no build')
    expect(await query(database.url, 'select * from things')).to.deep.equal([])
  })

  it('is a NATS prefix whose streams are deleted on dispose, and no others', async () => {
    const own = await testNats()
    await using other = await testNats()
    const connection = await connect({ servers: own.url })
    const { streams } = await connection.jetstreamManager()
    await streams.add({ name: `${own.prefix}_events`, subjects: [`${own.prefix}.>`] })
    await streams.add({ name: `${other.prefix}_events`, subjects: [`${other.prefix}.>`] })

    await own[Symbol.asyncDispose]()

    const names = []
    for await (const { config } of streams.list()) names.push(config.name)
    expect(names).to.include(`${other.prefix}_events`).and.not.include(`${own.prefix}_events`)
    await connection.close()
  })

  it('is a Redis prefix whose keys are deleted on dispose, and no others', async () => {
    const own = await testRedis()
    await using other = await testRedis()
    const redis = new Redis(own.url)
    await redis.mset(`${own.prefix}a`, '1', `${own.prefix}b`, '1', `${other.prefix}a`, '1')

    await own[Symbol.asyncDispose]()

    expect(await redis.exists(`${own.prefix}a`, `${own.prefix}b`)).to.equal(0)
    expect(await redis.exists(`${other.prefix}a`)).to.equal(1)
    redis.disconnect()
  })
})
