import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import { startHarness, type Harness } from './harness.ts'

const path = '/api/federation/relay'
const mebibyte = 1024 * 1024

describe('Batches that peers relay', () => {
  let harness: Harness
  beforeEach(async () => {
    harness = await startHarness()
  })
  afterEach(() => harness[Symbol.asyncDispose]())

  const relay = async (body: string) =>
    await fetch(`${harness.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })

  /** Contract: 7, Relay. */
  it('reach the service up to 10 MiB, byte for byte, and no longer', async () => {
    const lengths: number[] = []
    harness.stub.behave = async (received, response) => {
      const body = Buffer.concat((await Readable.from(received).toArray()) as Buffer[])
      lengths.push(body.length)
      response.end('{}')
    }

    const full = await relay('x'.repeat(10 * mebibyte))
    const over = await relay('x'.repeat(10 * mebibyte + 1))

    expect([full.status, over.status]).to.deep.equal([200, 413])
    expect(lengths).to.deep.equal([10 * mebibyte])
  })

  it('are refused by the service before their body has been sent', async () => {
    harness.stub.behave = async (_received, response) => {
      response.writeHead(403, { 'content-type': 'application/json' })
      response.end('{"error":"unknown","statusCode":403}')
    }
    const outgoing = request(`${harness.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': String(mebibyte) },
    })
    outgoing.write('{')

    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    outgoing.on('error', () => undefined)
    outgoing.destroy()

    expect(response.statusCode).to.equal(403)
  })

  /** Contract: 1, JSON bodies. */
  it('are the only JSON bodies over 64 KiB', async () => {
    const response = await fetch(`${harness.url}/api/federation/sync`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: 'x'.repeat(64 * 1024 + 1),
    })

    expect(response.status).to.equal(413)
  })
})
