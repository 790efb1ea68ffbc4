import { request } from 'node:http'
import { Readable } from 'node:stream'
import { callerHeader } from '@gatehouse/auth'
import { refuse, Unavailable } from '@gatehouse/runtime'
import { eventually, signTestCaller } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { untilFirstChunk } from '../src/index.ts'
import { startServiceHarness, type ServiceHarness } from './harness.ts'

const breakAfter = (error: Error, ...chunks: Buffer[]) =>
  Readable.from(
    (async function* () {
      yield* chunks
      throw error
    })(),
    { objectMode: false },
  )

/** Contract: 1, statuses. */
describe('The body of a response that is a stream', () => {
  let service: ServiceHarness
  let stream: Readable
  before(async () => {
    service = await startServiceHarness((router) => {
      router.get('/stream', async (ctx) => {
        ctx.body = await untilFirstChunk(ctx, stream)
        ctx.type = 'application/zip'
      })
    })
  })
  after(async () => await service[Symbol.asyncDispose]())
  const answerWith = async (body: Readable) => {
    stream = body
    return await service.send('GET', '/stream')
  }

  it('is an error with its status where the stream breaks before its first byte', async () => {
    const { status, headers, body } = await answerWith(breakAfter(new Unavailable('the store broke off')))
    expect([status, headers['retry-after'], headers['content-type'], body['code']]).to.deep.equal([
      503,
      '1',
      'application/json; charset=utf-8',
      'unavailable',
    ])
    expect((await answerWith(breakAfter(refuse.unauthorized()))).status).to.equal(401)
    const closed = new Readable({ read: () => void closed.destroy() })
    expect((await answerWith(closed)).status).to.equal(500)
  })

  it('is cut where the stream breaks later', async () => {
    const error = await answerWith(breakAfter(new Unavailable('the store broke off'), Buffer.from('x'))).catch(String)

    expect(error).to.match(/aborted|ECONNRESET/)
  })

  it('is whole, or empty, and is read no faster than it is sent', async () => {
    const large = Buffer.alloc(3_000_000, 'x')
    expect((await answerWith(Readable.from([large], { objectMode: false }))).text.length).to.equal(large.length)
    const empty = await answerWith(Readable.from([], { objectMode: false }))
    expect([empty.status, empty.text]).to.deep.equal([200, ''])

    const endless = new Readable({ highWaterMark: 10, read: () => void endless.push(Buffer.alloc(10)) })
    await untilFirstChunk({ res: { once: () => undefined, off: () => undefined } as never }, endless)
    expect(endless.readableLength).to.be.within(1, 20)
    endless.destroy()
  })

  it('is destroyed where the client leaves before the first byte', async () => {
    const lines = service.lines.length
    stream = new Readable({ read: () => undefined })
    const caller = signTestCaller('invite', { address: '127.0.0.1', account: null }, service.clock.now())
    const leaving = request(`${service.url}/stream`, { agent: false, headers: { [callerHeader]: caller } })
    leaving.on('error', () => undefined).end()
    await eventually('it is read', async () => stream.listenerCount('readable') > 0)

    leaving.destroy()

    await eventually('it is destroyed', async () => stream.destroyed)
    expect(service.lines.slice(lines).filter(({ level }) => Number(level) >= 50)).to.deep.equal([])
  })
})
