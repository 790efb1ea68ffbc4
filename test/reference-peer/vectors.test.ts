import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { PeerStatus } from './instance.ts'
import { startReferencePeer } from './reference-peer.ts'
import { signatureOf, signedText } from './signature.ts'

type Vector = {
  name: string
  secret: string
  timestamp: string
  nonce: string | null
  body: string
  bodyBytes: number
  signedText: string
  signature: string
}

type VectorRequest = {
  name: string
  peerState: PeerStatus
  headers: Record<string, string>
  body: string
  status: number
  after?: string
}

type Vectors = {
  signatures: Vector[]
  receiver: { now: number; peer: { origin: string; secret: string }; method: string; path: string }
  requests: VectorRequest[]
}

const readPage = (name: string) => readFile(new URL(`../../docs/federation/${name}`, import.meta.url), 'utf8')
const { signatures, receiver, requests } = JSON.parse(await readPage('vectors.json')) as Vectors

/** The pages that show a message of the vectors. */
const shown = {
  'protocol.md': ['epoch request', 'identity deletion', 'denial'],
  'example-peering.txt': ['epoch answer', 'first sync', 'relay of a presence'],
}

describe('docs/federation/vectors.json', () => {
  for (const vector of signatures) {
    it(`gives the signature of: ${vector.name}`, () => {
      expect(signedText(vector)).to.equal(vector.signedText)
      expect(signatureOf(vector.secret, vector)).to.equal(vector.signature)
      expect(Buffer.byteLength(vector.body)).to.equal(vector.bodyBytes)
      expect(JSON.stringify(JSON.parse(vector.body))).to.equal(vector.body)
    })
  }

  for (const [page, names] of Object.entries(shown)) {
    it(`are the messages that ${page} shows`, async () => {
      const text = await readPage(page)
      for (const name of names) {
        const vector = signatures.find((other) => other.name === name)
        expect(text).to.include(vector?.body).and.to.include(vector?.signature)
      }
    })
  }

  for (const request of requests) {
    it(`answers ${request.status} to: ${request.name}`, async () => {
      await using peer = await startReferencePeer({
        publicOrigin: 'https://nova.example',
        clock: { now: () => receiver.now },
        timers: 'manual',
        settings: { limits: false },
      })
      peer.addPeer(receiver.peer.origin, { status: request.peerState, secret: receiver.peer.secret })
      const earlier = requests.find(({ name }) => name === request.after)
      const send = async ({ headers, body }: VectorRequest) => {
        const type = { 'Content-Type': 'application/json' }
        const { method, path } = receiver
        return (await fetch(peer.address + path, { method, headers: { ...type, ...headers }, body })).status
      }
      if (earlier) await send(earlier)

      expect(await send(request)).to.equal(request.status)
    })
  }
})
