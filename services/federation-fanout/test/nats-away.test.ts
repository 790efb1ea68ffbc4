import { randomUUID } from 'node:crypto'
import { connectNats, type Bus } from '@gatehouse/bus'
import { deleteFederatedIdentity } from '@gatehouse/contracts'
import { capturedLog, eventually, startNats, type LocalServer } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { buildPeer, sendAsPeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

describe('a deletion that arrives while NATS is away', () => {
  let nats: LocalServer
  let instance: TestInstance
  let identity: Bus
  let peer: Awaited<ReturnType<typeof buildPeer>>

  before(async () => {
    const { log } = capturedLog()
    nats = await startNats()
    identity = await connectNats({ url: nats.url, name: 'identity', log })
    instance = await startTestInstance('a', {
      resources: { bus: await connectNats({ url: nats.url, name: 'federation', log }) },
    })
    peer = await buildPeer(instance, { host: 'home.example' })
  })
  after(async () => {
    const { bus } = instance.deps
    await instance[Symbol.asyncDispose]()
    await bus[Symbol.asyncDispose]()
    await identity[Symbol.asyncDispose]()
    await nats[Symbol.asyncDispose]()
  })

  const remove = (nonce: string) => {
    const body = { homeUserId: '77', homeInstance: peer.host, mode: 'soft' }
    return sendAsPeer(instance, ['DELETE', '/api/federation/identity', body], { ...peer, nonce })
  }
  const comeBack = async () => {
    await nats.start()
    await eventually('NATS is back', () => identity.ready() && instance.deps.bus.ready())
  }

  it('is 503, leaves nothing behind, and the same request works when NATS is back', async () => {
    let asked = 0
    await using _answering = await identity.respond(deleteFederatedIdentity, async () => {
      asked += 1
      return { outcome: 'deleted' as const }
    })
    const nonce = randomUUID()
    await nats.kill()
    await eventually('the loss is noticed', () => !instance.deps.bus.ready())

    const refused = await remove(nonce)
    await comeBack()
    const accepted = await remove(nonce)

    expect([refused.status, accepted.status]).to.deep.equal([503, 200])
    expect(refused.headers.get('retry-after')).to.match(/^\d+$/)
    expect(asked).to.equal(1)
  })

  it('is 503 when NATS goes before the answer is there, and 200 when it is sent again', async () => {
    const [arrived, kept] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let asked = 0
    await using _answering = await identity.respond(deleteFederatedIdentity, async () => {
      asked += 1
      arrived.resolve()
      if (asked === 1) await kept.promise
      return { outcome: asked === 1 ? ('deleted' as const) : ('absent' as const) }
    })
    const nonce = randomUUID()
    const cut = remove(nonce)
    await arrived.promise
    await nats.kill()
    kept.resolve()

    const refused = await cut
    await comeBack()
    const accepted = await remove(nonce)

    expect([refused.status, accepted.status]).to.deep.equal([503, 200])
  })
})
