import { request, type ClientRequest } from 'node:http'
import { eventually } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { signBody } from '../src/peers/signature.ts'
import { createRelayAdmission } from '../src/requests/admit-relay.ts'
import { createSigningNetworks } from '../src/requests/signing-networks.ts'
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

  /** Large bodies. `read` gives undefined when one was admitted, else the refusal's code; `hold` keeps it until released. */
  const startAdmission = () => {
    const { admit, claim } = createRelayAdmission(instance.deps)
    const released = Promise.withResolvers<void>()
    const enter = async ([origin, address, isSigned = false]: Sent, work: () => Promise<void>): Promise<unknown> => {
      const signed = signBody({ origin, secret: secretOfPeer, body: '', timestamp: 1, nonce: 'x' })
      const headers = Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value]))
      const ctx = { headers, state: { caller: { address, account: null } } } as unknown as Parameters<typeof admit>[0]
      const read = async () => {
        await ctx.state.bodyReading?.enlarge?.()
        await (isSigned ? claim(ctx, work) : work())
      }
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
    await instance.deps.signingNetworks.note(row as { id: string }, address)
  }

  it('are one for each peer and eight in all', async () => {
    const admission = startAdmission()
    for (const [index, origin] of origins.entries()) await prove(origin, `10.0.${index}.1`)

    for (const [index, origin] of origins.slice(0, 8).entries()) {
      expect(await admission.hold(origin, `10.0.${index}.1`)).to.equal(undefined)
    }
    const refused = [
      await admission.read(first, '10.0.0.1'),
      await admission.read(origins[8]!, '10.0.8.1'),
      await admission.read('https://stranger.example', '10.0.9.1'),
    ]
    await admission.release()

    expect(refused).to.deep.equal(['relay_busy', 'relay_busy', 'peer_unknown'])
    expect([await admission.read(first, '10.0.0.1'), await admission.read(origins[8]!, '10.0.8.1')]).to.deep.equal([
      undefined,
      undefined,
    ])
  })

  it('of a peer are read although a stranger names its origin from elsewhere', async () => {
    const admission = startAdmission()
    await prove(first, '10.0.0.1')

    const stranger = await admission.hold(first, '203.0.5.1')
    const answers = [await admission.read(first, '10.0.0.1'), await admission.read(first, '203.0.6.1')]
    await admission.release()

    expect([stranger, ...answers]).to.deep.equal([undefined, undefined, 'relay_busy'])
  })

  it('count as those of the peer as soon as their signature has held', async () => {
    const admission = startAdmission()
    const [fourth = '', fifth = ''] = origins.slice(7)
    await prove(fifth, '10.0.8.1')

    const claimed = await admission.hold(fourth, '203.0.1.1', true)
    const free = await admission.read(third, '203.0.1.1')
    await admission.hold(fifth, '10.0.8.1')
    const other = await admission.read(fifth, '203.0.2.1', true)
    await admission.release()

    expect([claimed, free, other]).to.deep.equal([undefined, undefined, 'relay_busy'])
  })

  it('from networks that proved nothing are one for each network and four in all', async () => {
    const admission = startAdmission()
    const strangers = origins.slice(3, 7)
    await prove(second, '10.0.0.1')

    for (const [index, origin] of strangers.entries()) {
      expect(await admission.hold(origin, `203.0.${index}.1`)).to.equal(undefined)
      expect(await admission.read(third, `203.0.${index}.1`)).to.equal('relay_busy')
    }
    const answers = [await admission.read(third, '203.0.9.1'), await admission.read(second, '10.0.0.1')]
    await admission.release()

    expect(answers).to.deep.equal(['relay_busy', undefined])
  })

  it('belong to a network for a day after the last signed request from it', async () => {
    const { signingNetworks } = instance.deps
    const [row] = await instance.deps.orm.em.fork().execute('select id from peers where origin = ?', [third])
    const sync = ['POST', '/api/federation/sync', { sinceTimestamp: 0, limit: 1 }] as [string, string, object]
    const isProven = () => signingNetworks.includes(row as { id: string }, '127.0.0.1')

    await sendAsPeer(instance, sync, { origin: third, secret: 'b'.repeat(64) })
    const afterWrong = await isProven()
    await sendAsPeer(instance, sync, { origin: third, secret: secretOfPeer })
    const seen = [afterWrong, await isProven()]
    instance.clock.advance(24 * 60 * 60_000 - 1)
    seen.push(await isProven())
    instance.clock.advance(1)
    seen.push(await isProven())

    expect(seen).to.deep.equal([false, true, true, false])
  })

  /** Contract: 7, Relay. */
  it('know the network of a peer over all replicas and restarts, and at most sixteen of each', async () => {
    const other = createSigningNetworks(instance.deps)
    const [row] = await instance.deps.orm.em.fork().execute('select id from peers where origin = ?', [second])
    const peer = row as { id: string }
    const known = (addresses: string[]) => Promise.all(addresses.map((address) => other.includes(peer, address)))
    await instance.deps.orm.em.fork().execute('delete from signing_networks')

    await instance.deps.signingNetworks.note(peer, '198.51.100.7')
    await instance.deps.signingNetworks.note(peer, '2001:db8:1:2::7')
    const shared = await known(['198.51.100.99', '198.51.101.7', '2001:db8:1:2:9::1', '2001:db8:1:3::7'])
    for (let index = 0; index < 20; index += 1) await instance.deps.signingNetworks.note(peer, `10.1.${index}.1`)
    const stored = await instance.deps.orm.em.fork().execute<unknown[]>('select 1 from signing_networks')

    expect(shared).to.deep.equal([true, false, true, false])
    expect([stored.length, ...(await known(['198.51.100.7', '10.1.13.1', '10.1.14.1']))]).to.deep.equal([
      16,
      true,
      true,
      false,
    ])
  })
})

/** Contract: 7, Relay. */
describe('a relay of a peer that this process has not met, while strangers name it', () => {
  let instance: TestInstance
  let peer: { origin: string; secret: string }
  const held: ClientRequest[] = []

  beforeEach(async () => {
    instance = await startTestInstance('a')
    peer = await buildPeer(instance, { host: 'nova.example' })
  })
  afterEach(async () => {
    for (const sent of held.splice(0)) sent.destroy()
    await instance[Symbol.asyncDispose]()
  })

  /** A body without a signature that holds, which comes no further. */
  const holdBody = (bytes: number) => {
    const signed = signBody({ origin: peer.origin, secret: 'f'.repeat(64), body: '', timestamp: 1, nonce: 'x' })
    const headers = { ...signed, 'content-type': 'application/json', 'content-length': '9000000' }
    const sent = request(`${instance.address}/api/federation/relay`, { method: 'POST', headers })
    sent.on('error', () => undefined)
    sent.write('{'.padEnd(bytes, ' '))
    held.push(sent)
  }
  const relay = async (bytes = 0, { origin, secret } = peer) => {
    const message = ['POST', '/api/federation/relay', { events: [], padding: ' '.repeat(bytes) }]
    return (await sendAsPeer(instance, message as [string, string, object], { origin, secret })).status
  }
  const large = 100_000

  it('is read at once where it is small, and from then on also where it is large', async () => {
    for (let count = 0; count < 12; count += 1) holdBody(1)
    const unsigned = { ...peer, secret: 'e'.repeat(64) }
    // The question itself takes the place for a moment, and a stranger who comes then is refused.
    await eventually('a stranger holds the place of this network', async () => {
      holdBody(large)
      return (await relay(large, unsigned)) === 503
    })

    expect([await relay(large), await relay(), await relay(large)]).to.deep.equal([503, 200, 200])
  })

  it('may have ten megabytes as an active peer alone, which is seen before its body is read', async () => {
    const pending = await buildPeer(instance, { host: 'pending.example', status: 'pending' })
    await instance.deps.orm.em.fork().execute('update instance_settings set auto_accept_peering = true')

    expect([await relay(large), await relay(large, pending), await relay(0, pending)]).to.deep.equal([200, 413, 200])
  })
})
