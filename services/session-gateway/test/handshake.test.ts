import { expect } from 'chai'
import { readTokenClaims } from '@gatehouse/contracts'
import { eventually } from '@gatehouse/test-kit'
import { connect, signIn, type Client } from './client.ts'
import { answerTokens, buildUser, openCluster, statusOf, tokenFor, type Cluster, type Node } from './harness.ts'

describe('WebSocket handshake', () => {
  let cluster: Cluster
  let node: Node

  before(async () => {
    cluster = await openCluster()
    node = await cluster.startNode()
  })
  after(() => cluster[Symbol.asyncDispose]())

  /** Contract: 6, ready. */
  it('WebSocket handshake 4: a token makes its user online and gets everything that ready holds', async () => {
    const user = await buildUser(cluster)

    const { ready, socket } = await signIn(node.url, user.token)

    expect(ready).to.include.keys('sessionId', 'serverTime', 'instance')
    expect(ready.user).to.include({ id: user.id, username: user.username, status: 'online', showActivity: true })
    expect(ready.presences).to.deep.equal({ [user.id]: 'online' })
    expect(ready.instance).to.have.keys('name', 'instanceId', 'version')
    for (const list of [
      'spaces',
      'dmChannels',
      'folders',
      'readStates',
      'activeCalls',
      'activePeerOrigins',
      'rejectedPeerOrigins',
      'awaitingApprovalPeerOrigins',
    ]) {
      expect(ready[list], list).to.deep.equal([])
    }
    for (const map of ['voiceStates', 'voiceUserStates', 'spaceVoiceStates', 'userActivities']) {
      expect(ready[map], map).to.deep.equal({})
    }
    expect(ready).to.include({ spaceLayout: null, layoutUpdatedAt: 0 })
    expect(ready).not.to.have.property('pendingApprovalCount')
    expect(await statusOf(cluster, user)).to.equal('online')
    socket.terminate()
  })

  it('ready names the peers by their state, and to admins the number of requests that wait', async () => {
    await using other = await openCluster()
    for (const status of ['active', 'rejected', 'awaiting_approval', 'pending', 'revoked', 'unreachable']) {
      await other.sql(
        `insert into peers (id, origin, host, secret, status) values (next_snowflake(), ?, ?, 'secret', ?)`,
        [`https://${status}.example`, `${status}.example`, status],
      )
    }
    await other.sql(`insert into approval_requests (id, source_origin, secret, approval_token, status)
      select next_snowflake(), 'https://' || n || '.example', 'secret', 'token', 'pending' from generate_series(1, 3) n`)
    const { url } = await other.startNode()
    const [user, admin] = [await buildUser(other), await buildUser(other, Date.now(), { isAdmin: true })]

    const [one, two] = [await signIn(url, user.token), await signIn(url, admin.token)]

    for (const { ready } of [one, two]) {
      expect(ready.activePeerOrigins).to.deep.equal(['https://active.example'])
      expect(ready.rejectedPeerOrigins).to.deep.equal(['https://rejected.example'])
      expect(ready.awaitingApprovalPeerOrigins).to.deep.equal(['https://awaiting_approval.example'])
    }
    expect(one.ready).not.to.have.property('pendingApprovalCount')
    expect(two.ready.pendingApprovalCount).to.equal(3)
    for (const { socket } of [one, two]) socket.terminate()
  })

  it('WebSocket handshake 1: a socket that stays silent is closed with 4001 after 10 s, and not before', async () => {
    const { node: waiting, timer } = await cluster.startNodeWithTimer()
    const client = await connect(waiting.url)

    timer.advance(9_999)
    const isOpen = !(await handshakesOf(waiting)).includes('authenticationTimeout')
    timer.advance(1)

    expect(isOpen).to.equal(true)
    expect(await client.closed).to.deep.equal({ code: 4001, reason: 'Authentication timeout' })
    expect(client.messages).to.deep.equal([
      { type: 'error', message: 'Authentication timeout', code: 'authentication_timeout' },
    ])
  })

  for (const [what, frame] of [
    ['another type', '{"type":"ping"}'],
    ['no JSON', 'hello'],
    ['no object', '5'],
    ['no token', '{"type":"auth"}'],
    ['a binary frame', Buffer.from('{"type":"auth","token":"x"}')],
  ] as const) {
    it(`WebSocket handshake 2: a first message that is ${what} is closed with 4002`, async () => {
      const client = await connect(node.url)

      client.socket.send(frame)

      expect(await client.closed).to.deep.equal({ code: 4002, reason: 'First message must be auth' })
      expect(client.messages).to.deep.equal([
        { type: 'error', message: 'First message must be auth', code: 'first_message_not_auth' },
      ])
    })
  }

  it('WebSocket handshake 2: a second message before ready is closed with 4002', async () => {
    const user = await buildUser(cluster)
    const client = await connect(node.url)

    client.sendTogether({ type: 'auth', token: user.token }, { type: 'ping' })

    expect((await client.closed).code).to.equal(4002)
    await eventually('the user is offline', async () => (await statusOf(cluster, user)) === 'offline')
  })

  it('a first message of 4 KiB is read, one byte more is closed with 1009', async () => {
    const user = await buildUser(cluster)
    const [largest, large] = [await connect(node.url), await connect(node.url)]

    largest.socket.send(padded({ type: 'auth', token: user.token }, 4_096))
    large.socket.send(padded({ type: 'auth', token: user.token }, 4_097))

    await largest.take('ready')
    expect((await large.closed).code).to.equal(1009)
    expect(large.messages).to.deep.equal([{ type: 'error', message: 'Message too big', code: 'message_too_big' }])
    largest.socket.terminate()
  })

  it('a message over 16 KiB, in one frame or many, is closed with 1009', async () => {
    const [large, huge, fragmented] = await Promise.all([1, 2, 3].map(() => connect(node.url)))

    large!.send({ type: 'auth', token: 'x'.repeat(5_000) })
    huge!.send({ type: 'auth', token: 'x'.repeat(20_000) })
    for (let part = 0; part < 3; part += 1) fragmented!.socket.send('x'.repeat(7_000), { fin: false })

    for (const client of [large!, huge!, fragmented!]) {
      expect((await client.closed).code).to.equal(1009)
      expect(client.messages).to.deep.equal([{ type: 'error', message: 'Message too big', code: 'message_too_big' }])
    }
  })

  it('a first frame that breaks the protocol gets the error too, then the close', async () => {
    const client = await connect(node.url)

    client.socket.send(Buffer.from([0xff]), { binary: false })

    expect((await client.closed).code).to.equal(1007)
    expect(client.messages).to.deep.equal([
      { type: 'error', message: 'First message must be auth', code: 'first_message_not_auth' },
    ])
  })

  for (const [release, stop] of [
    ['this release', (client: Client) => client.end()],
    // In the name of its client.
    ['the release before', (client: Client) => client.socket.close(1012, 'Server is restarting')],
  ] as const) {
    it(`gets the error too, then the close with 1012, where a gateway of ${release} stops`, async () => {
      const client = await connect(node.url)

      stop(client)

      expect(await client.closed).to.deep.equal({ code: 1012, reason: 'Server is restarting' })
      expect(client.messages).to.deep.equal([{ type: 'error', message: 'Server is restarting', code: 'going_away' }])
    })
  }

  it('is closed with 1012 by a gateway that stops, after the answers to all that it has sent', async () => {
    const client = await signIn(node.url, (await buildUser(cluster)).token)

    client.sendTogether({ type: 'ping' }, { type: 'ping' })
    client.end()

    expect(await client.closed).to.deep.equal({ code: 1012, reason: 'Server is restarting' })
    expect(client.messages.map(({ type }) => type)).to.deep.equal(['pong', 'pong'])
  })

  /** Contract: 6, Failure before ready. */
  it('WebSocket handshake 5: a forged, an expired and an unknown user token get the error, then the close with 4003', async () => {
    const user = await buildUser(cluster)
    const forged = `${user.token.slice(0, -3)}abc`
    const expired = tokenFor(user, Date.now() - 7_200_000)
    const unknown = tokenFor({ id: '1', username: 'unknown' })

    for (const token of [forged, expired, unknown]) {
      const client = await connect(node.url)
      client.send({ type: 'auth', token })
      expect(await client.closed).to.deep.equal({ code: 4003, reason: 'Invalid token' })
      expect(client.messages).to.deep.equal([{ type: 'error', message: 'Invalid token', code: 'invalid_token' }])
    }
  })

  it('WebSocket handshake 3: a token older than the password is closed with 4004, one of its second, which is younger, passes', async () => {
    const changedAt = Date.now()
    const user = await buildUser(cluster)
    await cluster.sql('update users set password_changed_at = ? where id = ?', [changedAt, user.id])

    const older = await connect(node.url)
    older.send({ type: 'auth', token: tokenFor(user, changedAt - 1_000) })
    const same = await signIn(node.url, tokenFor(user, changedAt))

    expect(await older.closed).to.deep.equal({ code: 4004, reason: 'Token has been revoked' })
    expect(same.ready.type).to.equal('ready')
  })

  it('WebSocket handshake 3: a deleted account is closed with 4005 and never becomes online', async () => {
    const user = await buildUser(cluster)
    await cluster.sql('update users set is_deleted = true where id = ?', [user.id])
    const client = await connect(node.url)

    client.send({ type: 'auth', token: user.token })

    expect(await client.closed).to.deep.equal({ code: 4005, reason: 'This account has been deleted' })
    expect(await statusOf(cluster, user)).to.equal('offline')
  })

  /** Contract: 6, Before authentication. */
  it('allows 100 unauthenticated sockets for an address, and counts neither others nor the authenticated', async () => {
    const address = '198.51.100.7'
    const clients = await Promise.all(Array.from({ length: 100 }, () => connect(node.url, { address })))

    const refused = await connect(node.url, { address }).catch((error: Error) => error.message)
    const other = await connect(node.url, { address: '198.51.100.8' })
    const user = await buildUser(cluster)
    clients[0]!.send({ type: 'auth', token: user.token })
    await clients[0]!.take('ready')
    const again = await connect(node.url, { address })

    expect(refused).to.equal('refused: 429')
    for (const client of [...clients, other, again]) client.socket.terminate()
    await eventually('no socket is counted any more', async () => {
      const { text } = await node.resources.metrics.render()
      return text.includes('gatehouse_sockets_unauthenticated 0')
    })
  })

  it('refuses an upgrade that did not come through the gateway, and other paths', async () => {
    const direct = await connect(node.url, { headers: { 'x-gatehouse-caller': 'forged.mac' } }).catch(String)
    const elsewhere = await connect(`${node.url}/other`).catch(String)

    expect(direct).to.include('403')
    expect(elsewhere).to.include('404')
  })

  it('admits a user whose account another transaction holds as soon as that ends', async () => {
    const user = await buildUser(cluster)
    const others = await buildUser(cluster)
    const em = cluster.orm.em.fork()
    await em.begin()
    await em.execute('select 1 from users where id = ? for update', [user.id])

    const held = signIn(node.url, user.token)
    const free = await signIn(node.url, others.token)
    await em.commit()

    expect(free.ready.type).to.equal('ready')
    expect((await held).ready.type).to.equal('ready')
  })

  /** Contract: 6, Failure before ready. */
  it('closes a handshake with 1013 when identity says nothing of its token, and leaves the sockets that stand', async () => {
    await using other = await openCluster()
    const { url } = await other.startNode({ tokenReadMs: 2_000 })
    const [known, unknown] = [await buildUser(other), await buildUser(other)]
    const standing = await signIn(url, known.token)
    const refused = async () => {
      const client = await connect(url)
      client.send({ type: 'auth', token: unknown.token })
      return (await client.closed).code
    }

    await other.identity[Symbol.asyncDispose]()
    const absent = await refused()
    const late = Promise.withResolvers<{ claims: null[] }>()
    const silent = await (await other.openBus()).respond(readTokenClaims, () => late.promise)
    const unanswered = await refused()
    await standing.synchronize()
    const again = await signIn(url, known.token)
    late.resolve({ claims: [null] })
    await silent[Symbol.asyncDispose]()
    await answerTokens(await other.openBus())

    expect([absent, unanswered]).to.deep.equal([1013, 1013])
    expect([again, await signIn(url, unknown.token)].map(({ ready }) => ready.type)).to.deep.equal(['ready', 'ready'])
  })

  it('lets a good token wait beyond the 10 s of the first message, and no longer than 30 s', async () => {
    // A batch that is under way when the time passes is not late by that.
    const { node: slow, timer } = await cluster.startNodeWithTimer({ databaseLimitMs: 60_000 })
    const user = await buildUser(cluster)
    const em = cluster.orm.em.fork()
    await em.begin()
    await em.execute('select 1 from users where id = ? for update', [user.id])
    const begin = async () => {
      const client = await connect(slow.url)
      client.send({ type: 'auth', token: user.token })
      // The one after it has been read, and so has this one.
      await signIn(slow.url, (await buildUser(cluster)).token)
      return client
    }

    const refused = await begin()
    timer.advance(15_000)
    const admitted = await begin()
    timer.advance(15_000)
    const { code } = await refused.closed
    await em.commit()

    expect(code).to.equal(1013)
    await admitted.take('ready')
    admitted.socket.terminate()
    await slow.dispose()
  })
})

/** A message as text of exactly `bytes` bytes. */
function padded(message: object, bytes: number): string {
  const empty = JSON.stringify({ ...message, padding: '' })
  return JSON.stringify({ ...message, padding: 'x'.repeat(bytes - empty.length) })
}

/** The metric that counts ended handshakes by outcome. */
async function handshakesOf({ resources }: Node): Promise<string> {
  const { text } = await resources.metrics.render()
  return text
    .split('\n')
    .filter((line) => line.startsWith('gatehouse_handshakes_total'))
    .join('\n')
}
