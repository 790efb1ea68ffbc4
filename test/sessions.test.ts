import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { createTokenKey, signToken } from '@gatehouse/auth'
import { eventually } from '@gatehouse/test-kit'
import pg from 'pg'
import { WebSocket } from 'ws'
import type { Cluster } from '../deploy/cluster/cluster.ts'
import { startTestCluster } from '../deploy/test/test-cluster.ts'
import { callApi } from './api.ts'

type TestUser = { id: string; token: string }
type Tab = { socket: WebSocket; messages: Record<string, unknown>[]; closed: Promise<number> }

describe('sessions over two gateways and two session gateways', () => {
  let cluster: Cluster
  let database: pg.Client
  let admin: TestUser

  before(async () => {
    cluster = await startTestCluster({ replicas: { gateway: 2, 'session-gateway': 2 } })
    database = new pg.Client(cluster.postgres.url)
    await database.connect()
    admin = await createUser('admin', { isAdmin: true })
  })
  after(async () => {
    await database.end()
    await cluster[Symbol.asyncDispose]()
  })

  it('shows who is online to friends and over REST, whichever gateway they connected to', async () => {
    const [ada, bob] = await createFriends('ada', 'bob')
    const watcher = await openTab(bob, 0)

    const tab = await openTab(ada, 1)
    await eventually('bob is notified', () => received(watcher, ada, 'online'))
    expect(await statusOf(ada)).to.equal('online')
    tab.socket.close()
    await eventually('bob is notified of the end', () => received(watcher, ada, 'offline'))

    expect(await statusOf(ada)).to.equal('offline')
    watcher.socket.terminate()
  })

  it('Admin reset 3: closes all sockets of the target, everywhere, and their token opens no new one', async () => {
    const target = await createUser('target')
    const tabs = await openTabs(target, 8)

    const reset = await callApi(cluster.gateways[0]!, `POST /api/admin/users/${target.id}/reset-password`, admin)

    expect(reset.status).to.equal(200)
    for (const tab of tabs) expect(await tab.closed).to.equal(4010)
    expect(await openTab(target, 1).catch((error: Error) => error.message)).to.include('Token has been revoked')
    await eventually('the target to be offline', async () => (await statusOf(target)) === 'offline')
  })

  it('DELETE self 4: closes all sockets of a deleted account, everywhere', async () => {
    const target = await createUser('leaver')
    const tabs = await openTabs(target, 8)

    const deletion = await callApi(cluster.gateways[0]!, `DELETE /api/admin/users/${target.id}`, admin)

    expect(deletion.status).to.equal(200)
    for (const tab of tabs) expect(await tab.closed).to.equal(4011)
    expect(await openTab(target, 1).catch((error: Error) => error.message)).to.include('This account has been deleted')
  })

  it('answers an upgrade with the id of its request', async () => {
    const url = `${cluster.gateways[0]!.replace('http', 'ws')}/ws`
    const socket = new WebSocket(url, { headers: { 'x-request-id': 'upgrade-1' } })
    const [response] = (await once(socket, 'upgrade')) as [IncomingMessage]
    socket.terminate()

    expect(response.headers['x-request-id']).to.equal('upgrade-1')
  })

  it('lists the own open sockets of every session gateway, whichever is asked', async () => {
    const target = await createUser('lister')
    const tabs = await openTabs(target, 8)

    for (const gateway of cluster.gateways) {
      // On a busy machine a session gateway may answer too late: then the list says so.
      const sockets = await eventually('a complete list', async () => {
        const { status, body } = await callApi(gateway, 'GET /api/users/@me/sockets', target)
        expect(status).to.equal(200)
        return body['incomplete'] ? undefined : (body['sockets'] as { sessionId: string; network: string }[])
      })
      expect(sockets.map(({ sessionId }) => sessionId)).to.have.members(
        tabs.map(({ messages }) => sessionIdOf(messages)),
      )
      expect(new Set(sockets.map(({ network }) => network))).to.deep.equal(new Set(['127.0.0.0/24']))
    }
    for (const { socket } of tabs) socket.terminate()
  })

  it('exports the data of an account as a ZIP archive, twice a day', async () => {
    const target = await createUser('exporter@home.example')
    await database.query("update users set home_instance = 'home.example' where id = $1", [target.id])
    const responses = []
    for (let count = 0; count < 3; count += 1) {
      const response = await fetch(`${cluster.gateways[count % 2]!}/api/users/@me/export`, {
        method: 'POST',
        headers: { authorization: `Bearer ${target.token}` },
      })
      responses.push({ response, text: await response.text() })
    }

    expect(responses.map(({ response }) => response.status)).to.deep.equal([200, 200, 429])
    const [{ response, text }] = responses as [(typeof responses)[0]]
    expect(text.startsWith('PK')).to.equal(true)
    expect(response.headers.get('content-type')).to.equal('application/zip')
    expect(response.headers.get('content-disposition')).to.equal('attachment; filename="exporter@home.example.zip"')
    expect(response.headers.get('cache-control')).to.equal('no-store')
  })

  it('survives a rolling restart: 1012, and reconnected elsewhere without an offline notification', async () => {
    const [carol, dave] = await createFriends('carol', 'dave')
    const watchers = await openTabs(dave, 8)
    const tabs = await openTabs(carol, 8)
    const [first] = sessionGateways()

    await first!.stop()
    const code = await Promise.any(tabs.map((tab) => tab.closed))
    const again = await openTab(carol, 0)
    await first!.start()

    expect(code).to.equal(1012)
    expect(watchers.flatMap(({ messages }) => messages).filter(({ status }) => status === 'offline')).to.deep.equal([])
    expect(await statusOf(carol)).to.equal('online')
    for (const tab of [...tabs, ...watchers, again]) tab.socket.terminate()
  })

  it('shows users offline within 60 s after every session gateway was killed', async () => {
    const erin = await createUser('erin')
    const tabs = await openTabs(erin, 4)

    await Promise.all(sessionGateways().map((node) => node.kill()))
    for (const tab of tabs) await tab.closed
    await Promise.all(sessionGateways().map((node) => node.start()))

    await eventually('erin is offline', async () => (await statusOf(erin)) === 'offline')
  })

  const sessionGateways = () => cluster.processes.filter(({ service }) => service === 'session-gateway')

  async function createUser(username: string, { isAdmin = false } = {}): Promise<TestUser> {
    const { rows } = await database.query<{ id: string }>(
      `insert into users (id, username, password_hash, is_admin) values (next_snowflake(), $1, '!none', $2) returning id`,
      [username, isAdmin],
    )
    const id = rows[0]!.id
    const key = createTokenKey(cluster.environment.JWT_SECRET!)
    const now = Date.now() - 5_000
    return { id, token: signToken(key, { userId: id, username }, { expiresIn: '1h', now }) }
  }

  async function createFriends(one: string, other: string): Promise<[TestUser, TestUser]> {
    const pair: [TestUser, TestUser] = [await createUser(one), await createUser(other)]
    await database.query('insert into friendships (user_id, friend_id) values ($1, $2)', [pair[0].id, pair[1].id])
    return pair
  }

  /** Through both gateways in turn, each of which spreads them over both session gateways. */
  const openTabs = (person: TestUser, count: number) =>
    Promise.all(Array.from({ length: count }, (_, place) => openTab(person, place % 2)))

  async function openTab({ token }: TestUser, gateway: number): Promise<Tab> {
    const socket = new WebSocket(`${cluster.gateways[gateway]!.replace('http', 'ws')}/ws`)
    const messages: Tab['messages'] = []
    const closed = new Promise<number>((resolve) => socket.once('close', resolve))
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.once('open', () => socket.send(JSON.stringify({ type: 'auth', token })))
      socket.on('message', (data) => {
        const message = JSON.parse(String(data)) as Record<string, unknown>
        messages.push(message)
        if (message.type === 'ready') resolve()
        if (message.type === 'error') reject(new Error(String(message.message)))
      })
    })
    socket.on('error', () => undefined)
    return { socket, messages, closed }
  }

  async function statusOf({ id }: TestUser): Promise<unknown> {
    return (await callApi(cluster.gateways[0]!, `GET /api/users/${id}`, { token: admin.token })).body.status
  }

  function sessionIdOf(messages: Tab['messages']): unknown {
    return messages.find(({ type }) => type === 'ready')?.['sessionId']
  }

  function received({ messages }: Tab, { id }: TestUser, status: string): boolean {
    return messages.some((each) => each.type === 'presence_update' && each.userId === id && each.status === status)
  }
})
