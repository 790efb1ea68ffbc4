import { expect } from 'chai'
import { systemClock } from '@gatehouse/runtime'
import { eventually } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/test-kit/time'
import { signIn } from './client.ts'
import { buildUser, openCluster, quick, statusOf, type Cluster, type Node } from './harness.ts'

describe('messages after ready', () => {
  let cluster: Cluster
  let node: Node

  before(async () => {
    cluster = await openCluster()
    node = await cluster.startNode()
  })
  after(() => cluster[Symbol.asyncDispose]())

  const signInNew = async (url = node.url) => signIn(url, (await buildUser(cluster)).token)

  it('answers ping with pong, however many', async () => {
    const client = await signInNew()

    client.sendTogether(...Array.from({ length: 100 }, () => ({ type: 'ping' })))

    await eventually('100 pongs', () => client.messages.filter(({ type }) => type === 'pong').length === 100)
    expect(client.messages).to.have.length(100)
    client.socket.terminate()
  })

  it('ends the socket whose message cannot be handled because of a fault, and no other', async () => {
    const now = (): number => {
      if (new Error().stack?.includes('handleMessage')) throw new Error('a fault')
      return systemClock.now()
    }
    const faulty = await cluster.startNodeWith({ clock: { ...systemClock, now } })
    const [other, client] = [await signInNew(faulty.url), await signInNew(faulty.url)]

    client.send({ type: 'unknown' })

    expect((await client.closed).code).to.equal(1006)
    await other.synchronize()
    other.socket.terminate()
  })

  it('answers what is no JSON, and what has an unknown type, each with its error', async () => {
    const client = await signInNew()

    client.socket.send('{"type":')
    client.send({ type: 'unknown' })
    client.send({ type: 'ß'.repeat(201) })
    client.send(['ping'])
    client.socket.send(Buffer.from('{"type":"ping"}'))
    client.send({ type: 'ping' })

    await client.take('pong')
    const invalid = { type: 'error', message: 'Invalid JSON', code: 'invalid_json' }
    const unknown = { type: 'error', message: 'Unknown message type', code: 'unknown_message_type' }
    expect(client.messages).to.deep.equal([
      invalid,
      { ...unknown, about: 'unknown' },
      { ...unknown, about: 'ß'.repeat(200) },
      unknown,
      invalid,
    ])
    client.socket.terminate()
  })

  it('takes 30 messages of a user at once over all sockets, then two a second, but never refuses a ping', async () => {
    const clock = movableClock()
    const limiting = await cluster.startNodeWith({ clock, overrides: { timings: quick } })
    const user = await buildUser(cluster)
    const one = await signIn(limiting.url, user.token)
    const other = await signIn(limiting.url, user.token)

    one.sendTogether(...Array.from({ length: 30 }, () => ({ type: 'unknown' })), { type: 'ping' })
    await one.take('pong')
    other.sendTogether(...Array.from({ length: 9 }, () => ({ type: 'unknown' })), { type: 'ping' })
    await other.take('pong')

    expect(one.messages.splice(0).map(({ code }) => code)).to.deep.equal(Array(30).fill('unknown_message_type'))
    const refusal = { type: 'error', message: 'Rate limited', code: 'rate_limited' }
    expect(other.messages).to.deep.equal(Array(9).fill(refusal))
    clock.advance(1_000)
    one.sendTogether(...Array.from({ length: 3 }, () => ({ type: 'unknown' })), { type: 'ping' })
    await one.take('pong')
    expect(one.messages.map(({ code }) => code)).to.deep.equal([
      'unknown_message_type',
      'unknown_message_type',
      refusal.code,
    ])
    for (const client of [one, other]) client.socket.terminate()
  })

  it('serves other sockets while one floods, and answers the flood in the end', async () => {
    const flooding = await signInNew()
    const other = await signInNew()

    flooding.sendTogether(...Array.from({ length: 700 }, () => ({ type: 'ping' })))
    other.send({ type: 'ping' })

    await other.take('pong')
    await eventually('every pong', () => flooding.messages.length === 700)
    for (const client of [flooding, other]) client.socket.terminate()
  })

  it('takes a message of 16 KiB, and closes with 1009 at one byte more', async () => {
    const client = await signInNew()

    client.socket.send(`"${'x'.repeat(16_382)}"`)
    await client.synchronize()
    client.socket.send(`"${'x'.repeat(16_383)}"`)

    expect((await client.closed).code).to.equal(1009)
    // The smaller one was read: it has no type.
    expect(client.messages.map(({ code }) => code)).to.deep.equal(['unknown_message_type'])
  })

  /** Contract: 6, Heartbeat. */
  it('pings every 30 s, drops within 65 s a peer that does not answer, without a close frame, and keeps one that does', async () => {
    const { node: pinging, timer } = await cluster.startNodeWithTimer()
    const user = await buildUser(cluster)
    const silent = await signIn(pinging.url, user.token)
    const answering = await signInNew(pinging.url)
    let pings = 0
    answering.socket.on('ping', () => (pings += 1))
    silent.freeze()

    timer.advance(29_999)
    await answering.synchronize()
    expect(pings).to.equal(0)
    timer.advance(1)
    await eventually('the first ping', () => pings === 1)
    timer.advance(29_999)
    await answering.synchronize()
    expect(await authenticatedSockets(pinging)).to.equal(2)
    timer.advance(5_000)
    await eventually('the second ping', () => pings === 2)
    await answering.synchronize()

    expect(timer.now()).to.be.at.most(65_000)
    expect(await authenticatedSockets(pinging)).to.equal(1)
    silent.unfreeze()
    expect((await silent.closed).code).to.equal(1006)
    // The next write of presence would show a grace period that ended too early.
    timer.advance(4_900)
    const next = await signInNew(pinging.url)
    expect(await statusOf(cluster, user)).to.equal('online')
    timer.advance(120)
    await eventually('the silent user is offline', async () => (await statusOf(cluster, user)) === 'offline')
    next.socket.terminate()
    answering.socket.terminate()
  })
})

async function authenticatedSockets({ resources }: Node): Promise<number> {
  const { text } = await resources.metrics.render()
  return Number(/^gatehouse_sockets_authenticated (\d+)$/m.exec(text)?.[1])
}
