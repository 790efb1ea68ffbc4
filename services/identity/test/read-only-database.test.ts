import { profileChanged, resolveReplicatedUser } from '@gatehouse/contracts'
import { prepareDatabase } from '@gatehouse/database'
import type { User } from '@gatehouse/domain'
import { toErrorResponse } from '@gatehouse/runtime'
import { eventually, startPostgresPair, startTcpProxy, type PostgresPair, type TcpProxy } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { buildUser, collectEvents } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

const connections = 10
/** Contract: 8, PostgreSQL. */
const limitMs = 2_000

describe('while the address of PostgreSQL leads to a standby', () => {
  const scope = new AsyncDisposableStack()
  const users: User[] = []
  let pair: PostgresPair
  let proxy: TcpProxy
  let identity: TestIdentity
  before(async () => {
    pair = scope.use(await startPostgresPair())
    proxy = scope.use(await startTcpProxy(pair.primary.url))
    await prepareDatabase(proxy.url)
    identity = scope.use(await startTestIdentity({ databaseUrl: proxy.url, connections }))
    for (let count = 0; count < 2 * connections; count += 1) users.push(await buildUser(identity))
    await pair.failOver()
    await eventually('the old primary answers', async () => (await read(users[0]!)).status === 200)
  })
  after(() => scope.disposeAsync())

  const read = (as: User) => identity.call('GET', '/api/users/@me', { as })
  const write = (as: User) => identity.call('PATCH', '/api/users/@me', { as, body: { bio: 'changed' } })
  const readiness = async () => {
    const response = await fetch(`${identity.url}/readyz?verbose`)
    return { status: response.status, ...((await response.json()) as { dependencies: object }) }
  }

  /** Contract: 8, Readiness. */
  it('changes are 503 with Retry-After, reads go on, and identity is ready', async () => {
    const writes = await Promise.all(users.map(write))
    const reads = await Promise.all(users.map(read))
    const stub = { homeUserId: '1', homeInstance: 'b.example' }
    const asking = identity.deps.bus.request(resolveReplicatedUser, stub, { timeoutMs: 20_000 })
    const overTheBus = await asking.catch(toErrorResponse)
    const { status, dependencies } = await readiness()
    const metrics = await (await fetch(`${identity.url}/metrics`)).text()

    expect(new Set(writes.map(({ status, body }) => `${status} ${String(body['code'])}`))).to.deep.equal(
      new Set(['503 unavailable']),
    )
    expect(writes.every(({ headers }) => headers.get('retry-after') === '1')).to.equal(true)
    expect(new Set(reads.map((response) => response.status))).to.deep.equal(new Set([200]))
    expect(overTheBus).to.have.nested.include({ 'refusal.status': 503, 'refusal.headers.Retry-After': '1' })
    expect([status, dependencies]).to.deep.equal([
      200,
      { postgres: true, postgres_writes: false, hashing: true, nats: true, nats_streams: true, redis: true },
    ])
    expect(metrics).to.include('gatehouse_dependency_up{dependency="postgres_writes"} 0')
    expect(metrics).to.match(/^gatehouse_database_faults_total\{fault="readOnly"\} [1-9]/m)
  })

  /** Contract: 8, PostgreSQL. */
  it('and then to the server that took over, changes are right within two seconds, and events are published', async () => {
    await using events = await collectEvents(identity, [profileChanged])
    // All connections of the pool lead to the standby.
    await Promise.all(users.map(read))

    const ledAt = performance.now()
    proxy.leadTo(pair.standby.url)
    await eventually('changes are right', async () => (await write(users[0]!)).status === 200, limitMs)

    // A connection to the former server may still be used before the limit, and not after it.
    await eventually('the limit is over', () => performance.now() - ledAt >= limitMs)
    const writes = await Promise.all(users.slice(1).map(write))
    expect(writes.map(({ status }) => status)).to.deep.equal(writes.map(() => 200))
    for (const { id } of users) await events.ofUser(id, 1)
    expect((await readiness()).dependencies).to.include({ postgres: true, postgres_writes: true })
  })
})
