import { expect } from 'chai'
import { eventually } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/test-kit/time'
import { signIn } from './client.ts'
import { buildUser, openCluster, quick, statusOf, tokenFor, type Cluster } from './harness.ts'

describe('sockets of one account', () => {
  let cluster: Cluster

  before(async () => {
    cluster = await openCluster()
  })
  after(() => cluster[Symbol.asyncDispose]())

  /** Contract: 6, Sockets of an account. */
  it('are 50 on a node: one more closes the oldest with 4008, and no socket of others', async () => {
    const node = await cluster.startNode()
    const [user, other] = [await buildUser(cluster), await buildUser(cluster)]
    const bystander = await signIn(node.url, other.token)
    const clients = [await signIn(node.url, user.token)]
    for (let opened = 1; opened < 50; opened += 1) clients.push(await signIn(node.url, user.token))
    await clients[0]!.synchronize()

    const last = await signIn(node.url, user.token)

    expect(await clients[0]!.closed).to.deep.equal({ code: 4008, reason: 'Too many connections' })
    for (const client of [...clients.slice(1), last, bystander]) await client.synchronize()
    expect(await statusOf(cluster, user)).to.equal('online')
    for (const client of [...clients, last, bystander]) client.socket.terminate()
  })

  it('are closed with 4004 in the second in which their token expires, and not before', async () => {
    const clock = movableClock(Math.floor(Date.now() / 1_000) * 1_000)
    const node = await cluster.startNodeWith({ clock, overrides: { timings: { ...quick, expiryMs: 10 } } })
    const user = await buildUser(cluster)
    const short = await signIn(node.url, tokenFor(user, clock.now(), '1h'))
    const long = await signIn(node.url, tokenFor(user, clock.now(), '2h'))

    clock.advance(3_599_999)
    // Each round takes longer than a look through the sockets.
    for (let round = 0; round < 20; round += 1) await short.synchronize()
    expect(short.socket.readyState).to.equal(short.socket.OPEN)
    clock.advance(1)

    expect(await short.closed).to.deep.equal({ code: 4004, reason: 'Token has been revoked' })
    await long.synchronize()
    await eventually('it is counted', async () => {
      const { text } = await node.resources.metrics.render()
      return text.includes('gatehouse_forced_disconnects_total{reason="token_expired"} 1')
    })
    long.socket.terminate()
  })
})
