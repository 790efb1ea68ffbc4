import { once } from 'node:events'
import { createServer, request, type ClientRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json as readJson } from 'node:stream/consumers'
import { isRefusal } from '@gatehouse/runtime'
import { expect } from 'chai'
import Koa from 'koa'
import { readRawBody, type BodyPace } from '../src/requests/raw-body.ts'

const hour = 3_600_000

describe('a body of a relay', () => {
  /** Answers with the number of bytes, or with the code of the refusal. */
  async function startReader(pace: BodyPace) {
    const app = new Koa()
    app.use(async (ctx) => {
      try {
        ctx.body = { bytes: (await readRawBody(ctx, { pace })).length }
      } catch (error) {
        if (!isRefusal(error)) throw error
        ctx.status = error.status
        ctx.set(error.headers)
        ctx.body = { code: error.code }
      }
    })
    const handle = app.callback()
    const server = createServer((req, res) => void handle(req, res))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    return {
      open: (length: number): ClientRequest =>
        request({
          port,
          host: '127.0.0.1',
          method: 'POST',
          headers: { 'content-type': 'application/json', 'content-length': String(length) },
        }),
      [Symbol.asyncDispose]: async () => {
        server.closeAllConnections()
        await new Promise((closed) => server.close(closed))
      },
    }
  }
  const answerTo = async (sent: ClientRequest) => {
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    return { status: answer.statusCode, body: await readJson(answer) }
  }
  const tooSlow = { status: 408, body: { code: 'body_too_slow' } }

  it('is ended with 408 when nothing of it comes in the grace period', async () => {
    await using reader = await startReader({ graceMs: 20, bytesPerSecond: 1, totalMs: hour })
    const sent = reader.open(100)
    sent.on('error', () => undefined)
    sent.flushHeaders()

    expect(await answerTo(sent)).to.deep.equal(tooSlow)
    sent.destroy()
  })

  it('is ended when what came was too little for the time, and when the whole takes too long', async () => {
    for (const pace of [
      { graceMs: 20, bytesPerSecond: 1_000_000, totalMs: hour },
      { graceMs: hour, bytesPerSecond: 1, totalMs: 20 },
    ]) {
      await using reader = await startReader(pace)
      const sent = reader.open(100)
      sent.on('error', () => undefined)
      sent.write('x'.repeat(99))

      expect(await answerTo(sent)).to.deep.equal(tooSlow)
      sent.destroy()
    }
  })

  it('is read however it is cut while enough of it comes', async () => {
    await using reader = await startReader({ graceMs: hour, bytesPerSecond: 1, totalMs: hour })
    const sent = reader.open(100)
    for (let byte = 0; byte < 100; byte += 1) sent.write('x')
    sent.end()

    expect(await answerTo(sent)).to.deep.equal({ status: 200, body: { bytes: 100 } })
  })
})
