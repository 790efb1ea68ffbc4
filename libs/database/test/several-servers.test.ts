import { eventually, freePort, startPostgresPair, type PostgresPair } from '@gatehouse/test-kit'
import type { MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { connectDatabase } from '../src/open-database.ts'
import { createClient, listServers } from '../src/servers.ts'
import { connectionOf, createNotes, setReadOnly, statusOf, write } from './notes.ts'

/** Contract: 8, PostgreSQL. */
const limitMs = 2_000

/** Contract: 8, Several PostgreSQL servers. */
describe('DATABASE_URL with several servers', () => {
  const scope = new AsyncDisposableStack()
  let pair: PostgresPair
  let unused: number
  before(async () => {
    pair = scope.use(await startPostgresPair())
    unused = await freePort()
    await createNotes(pair.primary.url)
  })
  after(() => scope.disposeAsync())

  const urlOf = (ports: number[], target?: string) => {
    const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',')
    const url = pair.primary.url.replace(`127.0.0.1:${pair.primary.port}`, hosts)
    return target === undefined ? url : `${url}${url.includes('?') ? '&' : '?'}target_session_attrs=${target}`
  }
  const open = async (opening: AsyncDisposableStack, url: string, connections = 4): Promise<MikroORM> =>
    opening.adopt(await connectDatabase({ url, connections }), (orm) => orm.close(true))

  it('leads to the first one that answers and is what target_session_attrs asks for', async () => {
    await using opening = new AsyncDisposableStack()
    const [primary, standby] = [pair.primary.port, pair.standby.port]
    const portFor = async (ports: number[], target?: string) =>
      (await connectionOf(await open(opening, urlOf(ports, target)))).port

    expect(await portFor([unused, standby, primary])).to.equal(standby)
    expect(await portFor([standby, primary], 'any')).to.equal(standby)
    expect(await portFor([unused, standby, primary], 'primary')).to.equal(primary)
    expect(await portFor([standby, primary], 'read-write')).to.equal(primary)
    expect(await portFor([primary], 'read-write')).to.equal(primary)
    const client = opening.adopt(await createClient(urlOf([standby, primary], 'primary'), 'test'), (it) => it.end())
    await client.connect()
    expect(client.port).to.equal(primary)
  })

  it('says of each one why it cannot be used, and asks no other where one has refused the password', async () => {
    const none = await connectDatabase({ url: urlOf([unused, pair.standby.port], 'read-write') }).catch(String)
    const wrong = urlOf([pair.standby.port, pair.primary.port]).replace(/:[^:@]+@/, ':wrong@')
    const refused = await connectDatabase({ url: wrong }).catch(String)

    expect(none).to.include(`127.0.0.1:${unused} connect ECONNREFUSED`)
    expect(none).to.include(`127.0.0.1:${pair.standby.port} takes no writes`)
    expect(refused).to.match(/password authentication failed/)
    expect(refused).to.not.include(String(pair.primary.port))
    expect(String(none) + String(refused)).to.not.include('wrong@')
  })

  it('leads a pool to the server that took over, within two seconds, and no write is a 500', async () => {
    await using opening = new AsyncDisposableStack()
    const ports = [pair.primary.port, pair.standby.port]
    const orm = await open(opening, urlOf(ports, 'read-write'), 10)
    const writing = await Promise.all(Array.from({ length: 10 }, () => write(orm)))
    const statuses = new Set<number>()
    let isOver = false
    const load = Promise.all(
      Array.from({ length: 5 }, async () => {
        while (!isOver) statuses.add(await write(orm))
      }),
    )

    await pair.failOver()
    await eventually('writes are right', async () => (await write(orm)) === 200, limitMs)
    isOver = true
    await load

    expect(new Set(writing)).to.deep.equal(new Set([200]))
    expect([...statuses].sort()).to.deep.equal([200, 503])
    expect((await connectionOf(orm)).port).to.equal(pair.standby.port)
  })

  it('leaves a server that takes no writes any more, and comes back to it', async () => {
    await using opening = new AsyncDisposableStack()
    const url = urlOf([pair.standby.port, pair.primary.port], 'read-write')
    const orm = await open(opening, url, 2)
    await setReadOnly(pair.standby.url, true)
    await eventually('it is refused', async () => (await write(orm)) === 503)
    const whileReadOnly = await eventually('no server is left', async () => {
      const status = await statusOf(connectionOf(orm))
      return status === 503 && status
    })
    await setReadOnly(pair.standby.url, false)

    await eventually('writes are right', async () => (await write(orm)) === 200, limitMs)
    expect(whileReadOnly).to.equal(503)
  })
})

describe('the hosts of DATABASE_URL', () => {
  const read = (url: string) => listServers(url, {})

  it('are read as libpq reads them', () => {
    const end = '/gatehouse?sslmode=require'
    expect(read(`postgres://user:a,b@[::1]:5433,host,10.0.0.2:1${end}&target_session_attrs=primary`)).to.deep.equal({
      urls: ['[::1]:5433', 'host', '10.0.0.2:1'].map((host) => `postgres://user:a,b@${host}${end}`),
      target: 'primary',
    })
    expect(read('postgres://host/gatehouse')).to.deep.equal({ urls: ['postgres://host/gatehouse'], target: 'any' })
    expect(listServers('postgres://host/a', { PGTARGETSESSIONATTRS: 'read-write' }).target).to.equal('read-write')
  })

  it('are refused where an instance could not work with them', () => {
    expect(() => read('postgres://a,b/gatehouse?target_session_attrs=standby')).to.throw(
      'DATABASE_URL: target_session_attrs must be one of any, primary, read-write',
    )
    expect(() => read('postgres:///gatehouse?host=a,b')).to.throw('name several hosts before the path')
  })
})
