import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { eventually } from '@gatehouse/test-kit'
import { expect } from 'chai'
import Koa, { type Context } from 'koa'
import { asRefusal } from './input.ts'
import { listen, type Listening } from './listen.ts'
import { readForm, readJsonBytes } from './read-body.ts'

describe('Reading a body', () => {
  const form = 'application/x-www-form-urlencoded'
  const readers = { json: readJsonBytes, form: readForm } satisfies Record<string, (ctx: Context) => Promise<unknown>>
  const outcomes: unknown[] = []
  let begun = 0
  let listening: Listening

  before(async () => {
    const app = new Koa()
    app.silent = true
    app.use(async (ctx) => {
      begun += 1
      const reader = readers[ctx.path.slice(1) as keyof typeof readers]
      const outcome = await reader(ctx).catch(asRefusal)
      outcomes.push(outcome)
      ctx.body = {}
    })
    listening = await listen(app.callback(), { host: '127.0.0.1', port: 0, drainMs: 1_000 })
  })
  after(async () => await listening[Symbol.asyncDispose]())
  beforeEach(() => void (outcomes.length = 0))

  async function outcomeOf(
    path: keyof typeof readers,
    body: string | Buffer<ArrayBuffer>,
    headers: Record<string, string>,
  ) {
    const length = String(Buffer.byteLength(body))
    await fetch(`${listening.url}/${path}`, {
      method: 'DELETE',
      headers: { ...headers, 'content-length': length },
      body,
    })
    return outcomes.pop()
  }

  it('gives JSON as the bytes that came, also those that are no UTF-8, and nothing of another type', async () => {
    const bytes = Buffer.from([0x7b, 0xff, 0x7d])
    const json = { 'content-type': 'application/json' }

    expect(await outcomeOf('json', bytes, json)).to.deep.equal(bytes)
    expect(await outcomeOf('json', gzipSync(bytes), { ...json, 'content-encoding': 'GZIP' })).to.deep.equal(bytes)
    expect(await outcomeOf('json', 'a=1', { 'content-type': form })).to.equal(undefined)
  })

  it('gives the fields of a form by their names as they stand', async () => {
    const read = async (body: string | Buffer<ArrayBuffer>, headers = {}) =>
      await outcomeOf('form', body, { 'content-type': form, ...headers })

    expect(await read('a=1&b=2&b=3')).to.deep.equal({ a: '1', b: ['2', '3'] })
    expect(await read('a.b=1&c[d]=2&__proto__=3')).to.deep.equal({ 'a.b': '1', 'c[d]': '2' })
    expect(await read(gzipSync('a=1'), { 'content-encoding': 'gzip' })).to.deep.equal({ a: '1' })
    expect(await read('{}', { 'content-type': 'application/json' })).to.deep.equal({})
    expect(await read('a='.padEnd(64 * 1024 + 1, 'x'))).to.include({ code: 'body_too_large' })
    expect(await read('no gzip', { 'content-encoding': 'gzip' })).to.include({ code: 'validation_failed' })
    expect(await read('a=1', { 'content-encoding': 'zebra' })).to.include({ code: 'unsupported_media_type' })
  })

  for (const path of ['json', 'form'] as const) {
    for (const encoding of ['identity', 'gzip']) {
      it(`ends when the client is gone: ${path}, ${encoding}`, async () => {
        const type = path === 'json' ? 'application/json' : form
        const headers = { 'content-type': type, 'content-encoding': encoding, 'content-length': '1000' }
        const client = request(`${listening.url}/${path}`, { method: 'POST', headers })
        client.on('error', () => undefined)
        begun = 0
        client.write(encoding === 'gzip' ? gzipSync('{}').subarray(0, 12) : '{')
        await eventually('the reading begins', () => begun === 1)
        client.destroy()

        await eventually('the reading ends', () => outcomes.length === 1)
        expect(outcomes[0]).to.include({ status: 400, code: 'validation_failed' })
      })
    }
  }
})
