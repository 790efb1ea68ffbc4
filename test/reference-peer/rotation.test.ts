import { expect } from 'chai'
import { joinPeers, openNetwork, secretOfPage, send, sendSigned, sentBy, settle } from './network.ts'
import { isSignedWith } from './signature.ts'
import type { ReferencePeer } from './reference-peer.ts'

const minuteMs = 60_000
const fresh = 'ab'.repeat(32)

async function startRotated(network: ReturnType<typeof openNetwork>) {
  const a = await network.start('a.example', { newSecret: () => fresh })
  const b = await network.start('b.example')
  joinPeers(a, b)
  const outcome = await a.rotate(b.origin)
  return { a, b, outcome }
}

const secrets = (peer: ReferencePeer, origin: string) => {
  const { secret, newSecret } = peer.peer(origin) ?? {}
  return { secret, newSecret }
}

/** Which of the two secrets signed the last request that came. */
function secretOfLast(peer: ReferencePeer): string {
  const last = peer.log.findLast((entry) => entry.direction === 'received')
  const headers = last?.headers ?? {}
  const body = last?.body ?? ''
  const timestamp = headers['x-federation-timestamp'] ?? ''
  const message = { timestamp, nonce: headers['x-federation-nonce'] ?? null, body }
  const isOld = isSignedWith(secretOfPage, headers['x-federation-signature'] ?? '', message)
  return isOld ? 'old' : 'new'
}

describe('rotation (wire: 2.8)', () => {
  it('signs relay and sync with the new one, and everything else with the old', async () => {
    await using network = openNetwork()
    const { a, b } = await startRotated(network)
    const erin = a.addUser({ username: 'erin', password: 'the password' })
    const signers: string[] = []

    a.setStatus(erin, 'online')
    await a.tick()
    signers.push(secretOfLast(b))
    await a.restart()
    await settle(a)
    signers.push(secretOfLast(b))
    await a.lookUpByName(b.origin, 'nobody')
    signers.push(secretOfLast(b))
    await a.deleteIdentities(erin, [b.origin], 'soft')
    signers.push(secretOfLast(b))

    expect(signers).to.deep.equal(['new', 'new', 'old', 'old'])
    expect(sentBy(a).filter((sent) => sent.endsWith(' 401'))).to.deep.equal([])
  })

  it('answers epoch with the old one, whichever signed the question', async () => {
    await using network = openNetwork()
    const { a, b } = await startRotated(network)

    const answer = await sendSigned(b, 'epoch', { origin: a.origin, secret: fresh })

    const message = {
      timestamp: String(answer.headers['x-federation-timestamp']),
      nonce: String(answer.headers['x-federation-nonce']),
      body: answer.text,
    }
    expect(isSignedWith(secretOfPage, String(answer.headers['x-federation-signature']), message)).to.equal(true)
  })

  it('takes both for 15 minutes, then only the old one until its tick, then only the new one', async () => {
    await using network = openNetwork()
    const { a, b } = await startRotated(network)
    let now = 1784000000000
    const taken = async () => {
      const ask = (secret: string) => sendSigned(b, 'epoch', { origin: a.origin, secret, timestamp: now })
      return [(await ask(secretOfPage)).status, (await ask(fresh)).status]
    }
    const pass = (ms: number) => {
      network.advance(ms)
      now += ms
    }

    pass(15 * minuteMs - 1)
    await b.rotationTick()
    const inGrace = await taken()
    pass(1)
    const afterGrace = await taken()
    await b.rotationTick()
    const afterTick = await taken()

    expect([inGrace, afterGrace, afterTick]).to.deep.equal([
      [200, 200],
      [200, 401],
      [401, 200],
    ])
    expect(secrets(a, b.origin)).to.deep.equal({ secret: secretOfPage, newSecret: fresh })
  })

  it('refuses while one runs, a malformed secret, and a peer that is not active', async () => {
    await using network = openNetwork()
    const { a, b } = await startRotated(network)
    const rotate = (newSecret: string) => sendSigned(b, 'peer/rotate', { origin: a.origin, body: { newSecret } })
    const unsigned = await send(b, { path: '/api/federation/peer/rotate', body: { newSecret: fresh } })

    const statuses = [(await rotate(fresh.toUpperCase())).status, (await rotate(fresh)).status, unsigned.status]
    b.addPeer(a.origin, { status: 'unreachable', secret: secretOfPage })
    statuses.push((await rotate(fresh)).status)

    expect(statuses).to.deep.equal([400, 409, 401, 403])
  })

  it('changes nothing after any other answer, and tries again on every tick once 90 days have passed', async () => {
    await using network = openNetwork()
    const [a, b] = [await network.start('a.example'), await network.start('b.example')]
    joinPeers(a, b)
    b.addFault({ path: '/api/federation/peer/rotate', times: 2, answer: { status: 404, body: {} } })
    network.advance(90 * 24 * 60 * minuteMs - 1)
    await a.rotationTick()
    const tooEarly = sentBy(a)
    network.advance(1)

    await a.rotationTick()
    await a.rotationTick()
    const afterRefusals = secrets(a, b.origin)
    await a.rotationTick()

    expect(tooEarly).to.deep.equal([])
    expect(afterRefusals).to.deep.equal({ secret: secretOfPage, newSecret: null })
    expect(sentBy(a)).to.deep.equal([404, 404, 200].map((status) => `federation/peer/rotate ${status}`))
    expect(secrets(a, b.origin)).to.deep.equal(secrets(b, a.origin))
  })
})
