import { expect } from 'chai'
import { createMetrics } from '@gatehouse/service-kit'
import { createSessionMetrics } from '../metrics.ts'
import { policy } from '../policy.ts'
import { emptyAudience } from './audience.ts'
import { PresenceBroadcaster } from './presence-broadcaster.ts'

const online = (userId: string) => ({ userId, status: 'online' as const, version: 1 })

describe('what other nodes are told of a change of presence', () => {
  it('names those who see the user, each once and not the user, up to a number of links that lead to them', async () => {
    const { broadcaster, told } = openBroadcaster()
    const many = Array.from({ length: policy.toldRecipients }, (_, index) => String(1000 + index))

    broadcaster.publish(
      ['1', '2', '3', '4'].map(online),
      Promise.resolve({
        spacesOf: new Map([
          ['1', ['10', '11']],
          ['2', ['12']],
          ['3', ['12']],
        ]),
        membersOf: new Map([
          ['10', ['1', '5', '6']],
          ['11', ['1', '6', '7']],
          ['12', many],
        ]),
        linkedTo: new Map([
          ['1', ['5', '8']],
          ['3', ['9']],
        ]),
      }),
    )
    await Promise.resolve()

    expect(told).to.deep.equal([
      { ...online('1'), audience: ['5', '8', '6', '7'] },
      { ...online('2'), audience: many },
      { ...online('3'), audience: undefined },
      { ...online('4'), audience: [] },
    ])
  })

  it('names nobody where the audience could not be read', async () => {
    const { broadcaster, told } = openBroadcaster()

    broadcaster.publish([online('1')], Promise.reject(new Error('canceled')))
    await new Promise(setImmediate)

    expect(told).to.deep.equal([online('1')])
  })

  it('waits while the bus is away, and names nobody then: until it is back the audience is another one', async () => {
    const { broadcaster, told, bus } = openBroadcaster()
    bus.isReady = false
    broadcaster.publish([online('1')], Promise.resolve(emptyAudience))
    await Promise.resolve()
    expect(told).to.deep.equal([])

    bus.isReady = true
    broadcaster.retryPostponed()

    expect(told).to.deep.equal([online('1')])
  })

  it('is told again where the connection was lost before NATS had it, and once where NATS has it', async () => {
    const { broadcaster, told, bus } = openBroadcaster()
    const retry = async () => {
      broadcaster.retryPostponed()
      await new Promise(setImmediate)
    }
    broadcaster.publish([online('1')])
    await retry()
    bus.isLost = true
    broadcaster.publish([online('2')])
    await retry()
    expect(told).to.deep.equal([online('1'), online('2')])

    bus.isLost = false
    for (let round = 0; round < 3; round += 1) await retry()

    expect(told).to.deep.equal([online('1'), online('2'), online('2')])
  })

  it('is told again where the connection was lost and is there again before NATS was asked', async () => {
    const { broadcaster, told } = openBroadcaster()
    broadcaster.publish([online('1')])

    broadcaster.repeatUnconfirmed()

    expect(told).to.deep.equal([online('1'), online('1')])
  })
})

function openBroadcaster() {
  const told: unknown[] = []
  const bus = { isReady: true, isLost: false }
  const counts = { authenticated: () => 0, unauthenticated: () => 0 }
  const deps = {
    bus: {
      ready: () => bus.isReady,
      publish: async (_event: unknown, change: unknown) => void told.push(change),
      flush: async () => {
        if (bus.isLost) throw new Error('disconnected')
      },
    },
    presenceDelivery: { take: () => {} },
    sessionMetrics: createSessionMetrics(createMetrics(), counts),
  } as unknown as ConstructorParameters<typeof PresenceBroadcaster>[0]
  return { broadcaster: new PresenceBroadcaster(deps), told, bus }
}
