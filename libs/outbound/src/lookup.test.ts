import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { expect } from 'chai'
import { createDnsLookup } from './target.ts'

const A = 1
const NO_SUCH_NAME = 3

/** A name server that knows 192.0.2.1 for names starting with `known`, and no IPv6 address of anything. */
async function startNameServer(): Promise<AsyncDisposable & { address: string }> {
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => socket.send(answer(query), from.port, from.address))
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => void socket.close(() => resolve())),
  }
}

function answer(query: Buffer): Buffer {
  const questionEnd = query.indexOf(0, 12) + 5
  const isKnown = query.subarray(13, 18).toString() === 'known'
  const answers = isKnown && query.readUInt16BE(questionEnd - 4) === A ? 1 : 0
  const head = Buffer.from([
    query[0] ?? 0,
    query[1] ?? 0,
    0x81,
    0x80 | (isKnown ? 0 : NO_SUCH_NAME),
    0,
    1,
    0,
    answers,
    0,
    0,
    0,
    0,
  ])
  const record = Buffer.from([0xc0, 12, 0, A, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1])
  return Buffer.concat([head, query.subarray(12, questionEnd), answers ? record : Buffer.alloc(0)])
}

describe('the lookup of names', () => {
  it('is content with one family of addresses', async () => {
    await using nameServer = await startNameServer()

    expect(await createDnsLookup([nameServer.address]).addressesOf('known.test')).to.deep.equal(['192.0.2.1'])
  })

  it('rejects for names without any address', async () => {
    await using nameServer = await startNameServer()

    const outcome = await createDnsLookup([nameServer.address])
      .addressesOf('unknown.test')
      .catch((error: unknown) => error)

    expect(outcome).to.include({ code: 'ENOTFOUND' })
  })

  it('knows localhost without asking', async () => {
    const lookup = createDnsLookup()

    expect(await lookup.addressesOf('localhost')).to.deep.equal(['127.0.0.1', '::1'])
    expect(await lookup.addressesOf('a.localhost')).to.deep.equal(['127.0.0.1', '::1'])
  })
})
