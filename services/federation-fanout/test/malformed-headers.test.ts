import { randomUUID } from 'node:crypto'
import { applyRemoteProfiles, deleteFederatedIdentity, resolveReplicatedUser } from '@gatehouse/contracts'
import { expect } from 'chai'
import { signBody } from '../src/peers/signature.ts'
import { buildPeer, secretOfPeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

type Headers = Record<string, string | string[] | undefined>

const requests: [string, string, object][] = [
  ['DELETE', '/api/federation/identity', { homeUserId: '7', homeInstance: 'home.example', mode: 'soft' }],
  ['POST', '/api/federation/stubs', { homeUserId: '7', homeInstance: 'home.example' }],
  ['POST', '/api/federation/epoch', {}],
  ['POST', '/api/federation/relay', { events: [] }],
  ['POST', '/api/federation/sync', { sinceTimestamp: 0, limit: 1 }],
  ['POST', '/api/federation/users/lookup', { username: 'erin' }],
  ['POST', '/api/federation/users/by-home-id', { homeUserId: '7' }],
  ['POST', '/api/federation/verify-attach-proof', { token: 'a'.repeat(64) }],
  ['POST', '/api/federation/peer/rotate', { newSecret: 'b'.repeat(64) }],
]
const names = ['origin', 'timestamp', 'nonce', 'signature'].map((name) => `x-federation-${name}`)
const faults: Record<string, (right: string) => string | string[] | undefined> = {
  missing: () => undefined,
  blank: () => ' ',
  oversized: () => 'x'.repeat(8_000),
  repeated: (right) => [right, right],
  'repeated with another value': (right) => [right, `${right}1`],
  malformed: () => 'sha256=, https:// -1e400 \u00ff',
  'a prototype key': () => '__proto__',
}

describe('signed requests whose headers are none', () => {
  let instance: TestInstance
  const origin = 'https://home.example'
  let asked = 0

  before(async () => {
    instance = await startTestInstance('a')
    await buildPeer(instance, { host: 'home.example' })
    await buildPeer(instance, { host: 'other.example', secret: 'c'.repeat(64) })
  })
  after(() => instance[Symbol.asyncDispose]())
  beforeEach(() => (asked = 0))

  const identity = async () => {
    await using opening = new AsyncDisposableStack()
    const count =
      <T>(reply: T) =>
      async (): Promise<T> => {
        asked += 1
        return reply
      }
    opening.use(await instance.deps.bus.respond(deleteFederatedIdentity, count({ outcome: 'deleted' as const })))
    opening.use(await instance.deps.bus.respond(resolveReplicatedUser, count({ id: '5', created: true })))
    opening.use(await instance.deps.bus.respond(applyRemoteProfiles, count({ applied: 1 })))
    return opening.move()
  }
  const sign = (body: string, secret = secretOfPeer, nonce = randomUUID()): Headers => {
    const signed = signBody({ origin, secret, body, timestamp: instance.clock.now(), nonce })
    return Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value]))
  }
  const send = async ([method, path]: (typeof requests)[number], body: string, headers: Headers) => {
    const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
    return await instance.call(method, path, { body, headers: given as Record<string, string> })
  }
  const noncesTaken = async () => (await instance.deps.orm.em.fork().execute('select 1 from federation_nonces')).length

  for (const request of requests) {
    const [method, path, input] = request
    const body = JSON.stringify(input)

    it(`${method} ${path}: each header missing, blank, oversized, repeated or malformed is a 4xx that does nothing`, async () => {
      await using _identity = await identity()
      const before = await noncesTaken()

      for (const name of names) {
        for (const [fault, spoil] of Object.entries(faults)) {
          const right = sign(body)
          const answer = await send(request, body, { ...right, [name]: spoil(right[name] as string) })
          expect(answer.status, `${name} ${fault}`).to.be.oneOf([400, 401, 403])
          expect(answer.body, `${name} ${fault}`).to.have.keys('error', 'statusCode', 'code')
        }
      }

      expect([asked, await noncesTaken()]).to.deep.equal([0, before])
    })

    it(`${method} ${path}: a replay is 409, and another peer's origin is 401`, async () => {
      await using _identity = await identity()
      const headers = sign(body)

      const first = await send(request, body, headers)
      const replayed = await send(request, body, headers)
      const lying = await send(request, body, { ...sign(body), 'x-federation-origin': 'https://other.example' })

      expect(first.status).to.be.oneOf([200, 201, 404])
      expect([replayed.status, lying.status]).to.deep.equal([409, 401])
    })
  }

  it('a denial: the same faults change nothing', async () => {
    await buildPeer(instance, { host: 'waits.example', secret: secretOfPeer, status: 'awaiting_approval' })
    const request = ['POST', '/api/federation/peer/denied', {}] as [string, string, object]
    const body = JSON.stringify({ origin: 'https://waits.example', reason: 'denied_by_admin' })

    for (const name of names) {
      for (const [fault, spoil] of Object.entries(faults)) {
        const right: Headers = { ...sign(body), 'x-federation-origin': 'https://waits.example' }
        const answer = await send(request, body, { ...right, [name]: spoil(right[name] as string) })
        expect(answer.status, `${name} ${fault}`).to.equal(401)
      }
    }

    const sql = "select status from peers where host = 'waits.example'"
    expect(await instance.deps.orm.em.fork().execute(sql)).to.deep.equal([{ status: 'awaiting_approval' }])
  })
})
