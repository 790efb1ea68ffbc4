import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { z } from 'zod'
import { jsonBody, parseInput } from '../src/index.ts'
import { startServiceHarness, type ServiceHarness } from './harness.ts'

describe('A JSON body', () => {
  const json = { 'content-type': 'application/json' }
  const schema = z.object({ name: z.string().optional(), isAdmin: z.boolean().optional() })
  let service: ServiceHarness

  before(async () => {
    service = await startServiceHarness((router) => {
      router.post('/things', jsonBody, (ctx) => void (ctx.body = { read: parseInput(schema, ctx.state.body) }))
    })
  })
  after(async () => await service[Symbol.asyncDispose]())

  const post = async (body: string | Buffer, headers: Record<string, string> = json) =>
    await service.send('POST', '/things', { body, headers })
  const statusOf = async (body: string | Buffer, headers?: Record<string, string>) => (await post(body, headers)).status

  it('is an object; unknown fields are ignored', async () => {
    expect((await post('{"name":"a","more":[1]}')).body).to.deep.equal({ read: { name: 'a' } })
  })

  it('may be missing where nothing is required', async () => {
    const withoutType = await service.send('POST', '/things')

    expect(withoutType.body).to.deep.equal({ read: {} })
    expect((await post('')).body).to.deep.equal({ read: {} })
    expect((await post('', { ...json, 'content-encoding': 'gzip' })).body).to.deep.equal({ read: {} })
  })

  it('is refused with 400 when it is malformed or no object', async () => {
    const bodies = ['{', 'x', '[]', '[{"name":"a"}]', '"name"', '1', 'null', 'true', '{"name":"a"} {}', '{"name":1}']
    const replies = await Promise.all(bodies.map((body) => post(body)))

    expect(replies.map(({ status }) => status)).to.deep.equal(bodies.map(() => 400))
    for (const { body } of replies)
      expect(body).to.have.keys('error', 'statusCode', 'code', 'details').and.include({ statusCode: 400 })
  })

  it('is refused with 413 above 64 KiB, whether it says so, hides its length or is compressed', async () => {
    const fitting = JSON.stringify({ name: 'x'.repeat(64 * 1024 - 11) })
    const tooLarge = JSON.stringify({ name: 'x'.repeat(64 * 1024 - 10) })

    expect(await statusOf(fitting)).to.equal(200)
    expect(await statusOf(tooLarge)).to.equal(413)
    expect(await statusOf(tooLarge, { ...json, 'transfer-encoding': 'chunked' })).to.equal(413)
    expect(await statusOf(gzipSync(tooLarge), { ...json, 'content-encoding': 'gzip' })).to.equal(413)
  })

  it('is refused with 415 when it is something else', async () => {
    const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'nonsense', '']
    const statuses = await Promise.all(types.map((type) => statusOf('{}', { 'content-type': type })))

    expect(statuses).to.deep.equal(types.map(() => 415))
    expect(await statusOf('{}', { ...json, 'content-encoding': 'zebra' })).to.equal(415)
  })

  it('is refused with 400 when what it was compressed into is broken', async () => {
    expect(await statusOf(Buffer.from('no gzip'), { ...json, 'content-encoding': 'gzip' })).to.equal(400)
    expect(await statusOf(gzipSync('{}').subarray(0, 12), { ...json, 'content-encoding': 'gzip' })).to.equal(400)
    expect(await statusOf(Buffer.from('no brotli'), { ...json, 'content-encoding': 'br' })).to.equal(400)
    expect(await statusOf(brotliCompressSync('{}').subarray(0, 3), { ...json, 'content-encoding': 'br' })).to.equal(400)
    expect(await statusOf(brotliCompressSync('{}'), { ...json, 'content-encoding': 'br' })).to.equal(200)
    expect(await statusOf(gzipSync('{}'), { ...json, 'content-encoding': 'GZIP' })).to.equal(200)
  })

  it('may be nested 32 levels deep, and is malformed beyond, however deep', async () => {
    const nested = (levels: number) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)
    const arrays = 32_000
    const deepArray = `{"a":${'['.repeat(arrays)}${']'.repeat(arrays)}}`
    const deepAndBad = `{"a":${'['.repeat(arrays)}"\\u0000"${']'.repeat(arrays)}}`

    expect((await post(nested(32))).body).to.deep.equal({ read: {} })
    for (const body of [nested(33), nested(10_000), nested(13_000).slice(0, 64 * 1024), deepArray, deepAndBad]) {
      expect((await post(body)).status).to.equal(400)
    }
  })

  it('may hold as many values as fit', async () => {
    expect(await statusOf(`{"a":[${'0,'.repeat(32_000)}0]}`)).to.equal(200)
  })

  it('lends nothing to a prototype, and is read without a key that names one', async () => {
    const bodies = [
      '{"__proto__":{"isAdmin":true}}',
      '{"constructor":{"prototype":{"isAdmin":true}}}',
      '{"name":"a","__proto__":{"name":"b"}}',
      '{"more":{"\\u005f_proto__":{"isAdmin":true}}}',
    ]
    const replies = await Promise.all(bodies.map((body) => post(body)))

    const read = replies.map(({ body }) => (body as { read?: unknown }).read)
    expect(read).to.deep.equal([{}, {}, { name: 'a' }, {}])
    expect(({} as { isAdmin?: boolean }).isAdmin).to.equal(undefined)
  })

  it('is refused with 400 when a text in it holds NUL or half a surrogate pair, wherever it stands', async () => {
    const bodies = ['{"name":"a\\u0000"}', '{"name":"\\ud800"}', '{"more":{"deep":["\\udc00"]}}', '{"more":"a\\u0000"}']
    const statuses = await Promise.all(bodies.map((body) => statusOf(body)))

    expect(statuses).to.deep.equal([400, 400, 400, 400])
    expect(await statusOf('{"name":"\\ud83d\\ude00"}')).to.equal(200)
  })

  it('is refused with 400 when it is no UTF-8, which would make one text of two', async () => {
    const bodyOf = (...bytes: number[]) =>
      Buffer.concat([Buffer.from('{"name":"'), Buffer.from(bytes), Buffer.from('"}')])
    const [alone, halfOfPair, overlongNul, cut] = [
      [0xff],
      [0xed, 0xa0, 0x80],
      [0xc0, 0x80],
      [0xf0, 0x9f, 0x98],
    ] as const
    const statuses = await Promise.all([alone, halfOfPair, overlongNul, cut].map((bytes) => statusOf(bodyOf(...bytes))))

    expect(statuses).to.deep.equal([400, 400, 400, 400])
    expect((await post(bodyOf(0xf0, 0x9f, 0x98, 0x80))).body).to.deep.equal({ read: { name: '😀' } })
    expect((await post(bodyOf(0xef, 0xbf, 0xbd))).body).to.deep.equal({ read: { name: '\ufffd' } })
    expect(await statusOf(gzipSync(bodyOf(0xff)), { ...json, 'content-encoding': 'gzip' })).to.equal(400)
  })
})
