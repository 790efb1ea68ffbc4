import { applyRemoteProfiles, remotePresenceReported } from '@gatehouse/contracts'
import { eventually } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { buildPeer, secretOfPeer, sendAsPeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

const timeout = 120_000

describe('ten thousand events of a peer in 200 relays', function () {
  this.timeout(timeout)
  let instance: TestInstance
  let busy: { origin: string; secret: string }
  let third: { origin: string; secret: string }

  beforeEach(async () => {
    instance = await startTestInstance('a')
    busy = await buildPeer(instance, { host: 'busy.example' })
    third = await buildPeer(instance, { host: 'third.example' })
  })
  afterEach(() => instance[Symbol.asyncDispose]())

  const profile = ({ origin }: { origin: string }, id: number) => ({
    eventType: 'profile_update',
    messageId: `m${id}`,
    profileUpdate: { homeUserId: `${id}`, homeInstance: origin, profileUpdatedAt: 5, displayName: `User ${id}` },
  })
  const relay = (peer: { origin: string }, events: object[]) =>
    sendAsPeer(instance, ['POST', '/api/federation/relay', { events }], { origin: peer.origin, secret: secretOfPeer })
  const batchOf = (peer: { origin: string }, batch: number) =>
    Array.from({ length: 50 }, (_, index) => profile(peer, batch * 50 + index))

  it('nothing is lost: what cannot be applied is asked for again, and every profile arrives', async () => {
    const applied = new Map<string, number>()
    let calls = 0
    await using _identity = await instance.deps.bus.respond(applyRemoteProfiles, async ({ profiles }) => {
      calls += 1
      if (calls % 7 === 0) throw new Error('identity fails now and then')
      for (const { homeUserId } of profiles) applied.set(homeUserId, (applied.get(homeUserId) ?? 0) + 1)
      return { applied: profiles.length }
    })
    const accepted = new Set<string>()
    const reasons = new Set<string>()

    for (let batch = 0, relays = 0; batch < 200; relays += 1) {
      if (relays % 90 === 0) instance.clock.advance(60_000)
      const { status, body } = await relay(busy, batchOf(busy, batch))
      expect(status).to.equal(200)
      const verdicts = body as { accepted: string[]; rejected: { reason: string }[] }
      for (const messageId of verdicts.accepted) accepted.add(messageId)
      for (const { reason } of verdicts.rejected) reasons.add(reason)
      if (verdicts.rejected.length === 0) batch += 1
    }

    expect([accepted.size, applied.size]).to.deep.equal([10_000, 10_000])
    expect([...reasons]).to.deep.equal(['temporarily_unavailable'])
  })

  it('nobody else waits: while one is being applied, other peers, admins and users are answered', async () => {
    const gate = Promise.withResolvers<void>()
    let waiting = 0
    await using _identity = await instance.deps.bus.respond(applyRemoteProfiles, async ({ origin, profiles }) => {
      if (origin === busy.origin) {
        waiting += 1
        await gate.promise
      }
      return { applied: profiles.length }
    })
    await using _presence = await instance.deps.bus.subscribe(remotePresenceReported, async () => undefined)

    const held = relay(busy, batchOf(busy, 0))
    await eventually('the batch is being applied', () => waiting === 1)
    const again = await relay(busy, batchOf(busy, 1))
    const lookup = ['POST', '/api/federation/users/by-home-id', { homeUserId: 'x' }] as [string, string, object]
    const answers = [
      await relay(third, batchOf(third, 0)),
      await sendAsPeer(instance, lookup, { ...third, secret: secretOfPeer }),
      await sendAsPeer(instance, lookup, { ...busy, secret: secretOfPeer }),
      await instance.admin('GET', '/api/federation/peers'),
    ]
    gate.resolve()
    const first = await held

    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
    // The next batch of the same peer is to come again: its own order is kept.
    expect([again.status, again.headers.get('retry-after')]).to.deep.equal([503, '1'])
    expect((first.body as { accepted: string[] }).accepted).to.have.length(50)
    expect((await relay(busy, batchOf(busy, 1))).status).to.equal(200)
  })

  it('a batch that would cost too much is refused before it is parsed, and the next one is taken', async () => {
    const [many, deep] = [Array.from({ length: 60_000 }, () => []), { event: {} }]
    for (let level = 0; level < 40; level += 1) deep.event = { event: deep.event }

    for (const event of [many, deep]) {
      const { status, body } = await relay(busy, [event])
      expect([status, (body as { code: string }).code]).to.deep.equal([400, 'validation_failed'])
    }
    expect(await relay(busy, batchOf(busy, 0))).to.have.property('status', 200)
  })
})
