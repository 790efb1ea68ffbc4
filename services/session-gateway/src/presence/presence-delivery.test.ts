import { expect } from 'chai'
import { PresenceDelivery } from './presence-delivery.ts'

const online = (userId: string, version = 1) => ({ userId, status: 'online' as const, version })

describe('a change of presence that another node tells', () => {
  it('is dropped where none of those whom it names is here, nor the user', async () => {
    const { delivery, scheduled } = openDelivery({ here: ['5'] })

    delivery.takeTold({ ...online('1'), audience: [] })
    delivery.takeTold({ ...online('2'), audience: ['6', '7'] })
    await new Promise(setImmediate)

    expect(scheduled()).to.equal(0)
  })

  for (const [where, change] of [
    ['one whom it names is here', { ...online('1'), audience: ['6', '5'] }],
    ['the user is here', { ...online('5'), audience: [] }],
    ['it names nobody', online('1')],
  ] as const) {
    it(`is delivered where ${where}`, async () => {
      const { delivery, scheduled } = openDelivery({ here: ['5'] })

      delivery.takeTold({ ...change, audience: 'audience' in change ? [...change.audience] : undefined })
      await new Promise(setImmediate)

      expect(scheduled()).to.equal(1)
    })
  }

  it('makes an older one that comes after it obsolete, also where it was dropped', async () => {
    const { delivery, scheduled } = openDelivery({ here: ['5'] })

    delivery.takeTold({ ...online('1', 2), audience: [] })
    delivery.takeTold({ ...online('1', 1), audience: ['5'] })
    await new Promise(setImmediate)

    expect(scheduled()).to.equal(0)
  })
})

function openDelivery({ here }: { here: readonly string[] }) {
  let scheduled = 0
  const deps = {
    timer: { now: () => 0, set: () => (scheduled += 1), clear: () => undefined },
    sessions: { find: (userId: string) => (here.includes(userId) ? {} : undefined) },
    remotePresences: { isOnline: () => false },
  } as unknown as ConstructorParameters<typeof PresenceDelivery>[0]
  return { delivery: new PresenceDelivery(deps), scheduled: () => scheduled }
}
