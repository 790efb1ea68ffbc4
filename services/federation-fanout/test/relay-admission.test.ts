import { expect } from 'chai'
import { signBody } from '../src/peers/signature.ts'
import { createRelayAdmission } from '../src/requests/admit-relay.ts'
import { buildPeer, secretOfPeer, sendAsPeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

/** Whose relay, from which address, and whether its signature holds. */
type Sent = [origin: string, address: string, isSigned?: boolean]

describe('the bodies of relays that are read at a time', () => {
  let instance: TestInstance
  const origins = Array.from({ length: 9 }, (_, index) => `https://r${index}.example`)
  const [first = '', second = '', third = ''] = origins

  before(async () => {
    instance = await startTestInstance('a')
    for (const origin of origins) await buildPeer(instance, { host: new URL(origin).hostname, origin })
  })
  after(() => instance[Symbol.asyncDispose]())

  /** `read` gives undefined when the body was admitted, else the code of the refusal; `hold` keeps it until released. */
  const startAdmission = () => {
    const { admit, claim } = createRelayAdmission(instance.deps)
    const released = Promise.withResolvers<void>()
    const enter = async ([origin, address, isSigned = false]: Sent, work: () => Promise<void>): Promise<unknown> => {
      const signed = signBody({ origin, secret: secretOfPeer, body: '', timestamp: 1, nonce: 'x' })
      const headers = Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value]))
      const ctx = { headers, state: { caller: { address, account: null } } } as unknown as Parameters<typeof admit>[0]
      const read = () => (isSigned ? Promise.resolve(claim(ctx, work)) : work())
      return await Promise.resolve(admit(ctx, read)).catch(({ code }: { code: string }) => code)
    }
    const held: Promise<unknown>[] = []
    return {
      read: (...sent: Sent) => enter(sent, async () => undefined),
      hold: async (...sent: Sent) => {
        const reading = Promise.withResolvers<unknown>()
        const work = async (): Promise<void> => {
          reading.resolve(undefined)
          await released.promise
        }
        const entered = enter(sent, work)
        held.push(entered)
        void entered.then(reading.resolve)
        return await reading.promise
      },
      release: async () => {
        released.resolve()
        await Promise.all(held)
      },
    }
  }
  const prove = async (origin: string, address: string) => {
    const [row] = await instance.deps.orm.em.fork().execute('select id from peers where origin = ?', [origin])
    instance.deps.provenAddresses.note((row as { id: string }).id, address)
  }

  it('are one for each peer and eight in all', async () => {
    const admission = startAdmission()
    for (const [index, origin] of origins.entries()) await prove(origin, `10.0.0.${index}`)

    for (const [index, origin] of origins.slice(0, 8).entries()) {
      expect(await admission.hold(origin, `10.0.0.${index}`)).to.equal(undefined)
    }
    const refused = [
      await admission.read(first, '10.0.0.0'),
      await admission.read(origins[8]!, '10.0.0.8'),
      await admission.read('https://stranger.example', '10.0.0.9'),
    ]
    await admission.release()

    expect(refused).to.deep.equal(['relay_busy', 'relay_busy', 'peer_unknown'])
    expect([await admission.read(first, '10.0.0.0'), await admission.read(origins[8]!, '10.0.0.8')]).to.deep.equal([
      undefined,
      undefined,
    ])
  })

  it('of a peer are read although a stranger names its origin from elsewhere', async () => {
    const admission = startAdmission()
    await prove(first, '10.0.0.0')

    const stranger = await admission.hold(first, '203.0.113.5')
    const answers = [await admission.read(first, '10.0.0.0'), await admission.read(first, '203.0.113.6')]
    await admission.release()

    expect([stranger, ...answers]).to.deep.equal([undefined, undefined, 'relay_busy'])
  })

  it('count as those of the peer as soon as their signature has held', async () => {
    const admission = startAdmission()
    const [fourth = '', fifth = ''] = origins.slice(7)
    await prove(fifth, '10.0.0.8')

    const claimed = await admission.hold(fourth, '203.0.113.1', true)
    const free = await admission.read(third, '203.0.113.1')
    await admission.hold(fifth, '10.0.0.8')
    const other = await admission.read(fifth, '203.0.113.2', true)
    await admission.release()

    expect([claimed, free, other]).to.deep.equal([undefined, undefined, 'relay_busy'])
  })

  it('from addresses that proved nothing are one for each address and four in all', async () => {
    const admission = startAdmission()
    const strangers = origins.slice(3, 7)
    await prove(second, '10.0.0.1')

    for (const [index, origin] of strangers.entries()) {
      expect(await admission.hold(origin, `203.0.113.${index}`)).to.equal(undefined)
      expect(await admission.read(third, `203.0.113.${index}`)).to.equal('relay_busy')
    }
    const answers = [await admission.read(third, '203.0.113.9'), await admission.read(second, '10.0.0.1')]
    await admission.release()

    expect(answers).to.deep.equal(['relay_busy', undefined])
  })

  it('belong to an address for a day after the last signed request from it', async () => {
    const { provenAddresses } = instance.deps
    const [row] = await instance.deps.orm.em.fork().execute('select id from peers where origin = ?', [third])
    const { id } = row as { id: string }
    const sync = ['POST', '/api/federation/sync', { sinceTimestamp: 0, limit: 1 }] as [string, string, object]
    const isProven = () => provenAddresses.includes(id, '127.0.0.1')

    await sendAsPeer(instance, sync, { origin: third, secret: 'b'.repeat(64) })
    const afterWrong = isProven()
    await sendAsPeer(instance, sync, { origin: third, secret: secretOfPeer })
    const seen = [afterWrong, isProven()]
    instance.clock.advance(24 * 60 * 60_000 - 1)
    seen.push(isProven())
    instance.clock.advance(1)
    seen.push(isProven())

    expect(seen).to.deep.equal([false, true, true, false])
  })
})
