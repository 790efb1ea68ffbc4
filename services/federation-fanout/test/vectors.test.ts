import { readFile } from 'node:fs/promises'
import type { Peer } from '@gatehouse/domain'
import { movableClock } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import { buildPeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

type VectorRequest = {
  name: string
  peerState: Peer['status']
  headers: Record<string, string>
  body: string
  status: number
  statusOverExactBytes?: number
  statusOfGatehouse?: number
  after?: string
}

type Vectors = {
  receiver: { now: number; peer: { origin: string; secret: string }; method: string; path: string }
  requests: VectorRequest[]
}

const file = new URL('../../../docs/federation/vectors.json', import.meta.url)
const { receiver, requests } = JSON.parse(await readFile(file, 'utf8')) as Vectors

describe('docs/federation/vectors.json at this service', () => {
  let instance: TestInstance
  before(async () => {
    instance = await startTestInstance('a', { resources: { clock: movableClock(receiver.now) } })
  })
  after(() => instance[Symbol.asyncDispose]())

  const send = ({ headers, body }: VectorRequest) => instance.call(receiver.method, receiver.path, { headers, body })

  for (const request of requests) {
    const expected = request.statusOfGatehouse ?? request.statusOverExactBytes ?? request.status
    it(`answers ${expected} to: ${request.name}`, async () => {
      const em = instance.deps.orm.em.fork()
      await em.execute('delete from peers')
      await em.execute('delete from federation_nonces')
      const { origin, secret } = receiver.peer
      await buildPeer(instance, { host: new URL(origin).hostname, origin, secret, status: request.peerState })
      const earlier = requests.find(({ name }) => name === request.after)
      if (earlier) await send(earlier)

      expect((await send(request)).status).to.equal(expected)
    })
  }
})
