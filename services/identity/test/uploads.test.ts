import { readdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import sharp from 'sharp'
import type { User } from '@gatehouse/domain'
import { Unavailable, type Refusal } from '@gatehouse/runtime'
import { createMetrics } from '@gatehouse/service-kit'
import { answered, eventually, signTestCaller, startS3, untilAvailable, type TestS3 } from '@gatehouse/test-kit'
import { startImageConverter } from '@gatehouse/uploads'
import { callerHeader } from '@gatehouse/auth'
import { uploadImage } from '../src/operations/profile/upload-image.ts'
import { policy } from '../src/policy.ts'
import { buildUser } from './builders.ts'
import { column, insertRow } from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { bombPng, sparseGif } from './large-images.ts'

const picture = (width: number, height: number, red = 200) =>
  sharp({ create: { width, height, channels: 3, background: { r: red, g: 30, b: 90 } } })

describe('uploads', () => {
  let identity: TestIdentity
  let user: User
  before(async () => {
    identity = await startTestIdentity()
    user = await buildUser(identity)
  })
  beforeEach(async () => void (user = await buildUser(identity)))
  after(async () => await identity[Symbol.asyncDispose]())

  const { send, get } = clientOf(() => ({ identity, user }))
  const stored = async (filename: unknown) => sharp(await (await get(String(filename))).bytes())
  const temporaryFiles = () => readdir(join(identity.config.uploadDir, '.incoming'))

  describe('POST /api/uploads', () => {
    for (const format of ['png', 'jpeg', 'webp', 'gif', 'avif'] as const) {
      it(`takes ${format}, whatever its name, and stores WebP`, async () => {
        const answer = await send(await picture(30, 20).toFormat(format).toBuffer(), {
          name: 'x.txt',
          type: 'text/plain',
        })

        expect(answer.status).to.equal(201)
        const { filename, size } = answer.body as { filename: string; size: number }
        expect(filename).to.match(/^[0-9a-f-]{36}\.webp$/)
        expect(answer.body).to.deep.equal({ filename, url: `/api/uploads/${filename}`, size, mimetype: 'image/webp' })
        const { format: kept, width, height } = await (await stored(filename)).metadata()
        expect({ kept, width, height }).to.deep.equal({ kept: 'webp', width: 30, height: 20 })
      })
    }

    it('fits large pictures into 512 pixels a side and leaves small ones as they are', async () => {
      const wide = await send(await picture(2000, 500).jpeg().toBuffer())
      const small = await send(await picture(10, 20).png().toBuffer())

      expect(await (await stored(wide.body.filename)).metadata()).to.include({ width: 512, height: 128 })
      expect(await (await stored(small.body.filename)).metadata()).to.include({ width: 10, height: 20 })
    })

    it('turns a photo upright and drops its metadata', async () => {
      const photo = await picture(40, 20)
        .withExif({ IFD0: { Copyright: 'a secret place' } })
        .withMetadata({ orientation: 6 })
        .jpeg()
        .toBuffer()

      const answer = await send(photo)

      const { width, height, exif, xmp, icc, orientation } = await (await stored(answer.body.filename)).metadata()
      expect([width, height]).to.deep.equal([20, 40])
      expect([exif, xmp, icc, orientation]).to.deep.equal([undefined, undefined, undefined, undefined])
    })

    it('cuts the square of a photo that is asked for, as it is seen, and as far as it has it', async () => {
      const halves = picture(40, 20, 0).composite([
        { input: await picture(20, 20, 250).png().toBuffer(), left: 20, top: 0 },
      ])
      const lying = await sharp(await halves.png().toBuffer())
        .withMetadata({ orientation: 6 })
        .jpeg()
        .toBuffer()
      const cut = async (crop: string) => {
        const image = await stored((await send(lying, { crop })).body.filename)
        const { width, height } = await image.metadata()
        const { channels } = await image.stats()
        return { width, height, isRed: channels[0]!.mean > 230 }
      }

      expect(await cut('0,0,20')).to.deep.equal({ width: 20, height: 20, isRed: false })
      expect(await cut('2,22,10')).to.deep.equal({ width: 10, height: 10, isRed: true })
      expect(await cut('10,30,99')).to.deep.equal({ width: 10, height: 10, isRed: true })
      expect(await cut('99999,99999,1')).to.deep.equal({ width: 1, height: 1, isRed: true })
    })

    it('refuses a crop that is no square in whole pixels', async () => {
      for (const crop of ['', '1,2', '-1,0,5', '0,0,0', '1.5,0,3', '0,0,100000', 'a,b,c']) {
        const answer = await send(await picture(4, 4).png().toBuffer(), { crop })
        expect([answer.status, answer.body['code'], answer.body['details']], crop).to.deep.equal([
          400,
          'validation_failed',
          { field: 'crop', reason: 'invalid' },
        ])
      }
      expect(await temporaryFiles()).to.deep.equal([])
    })

    it('keeps the first frame of an animation', async () => {
      const frames = await Promise.all([0, 100, 200].map((red) => picture(8, 8, red).png().toBuffer()))
      const animation = await sharp(frames, { join: { animated: true } })
        .gif()
        .toBuffer()
      expect((await sharp(animation, { animated: true }).metadata()).pageHeight).to.equal(8)

      const answer = await send(animation)

      expect((await (await stored(answer.body.filename)).metadata()).pages).to.equal(undefined)
    })

    it('refuses what is not an accepted image, whatever its name', async () => {
      const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>1</script></svg>')
      const whole = await picture(300, 300).png({ compressionLevel: 0 }).toBuffer()
      const bad = {
        svg,
        tiff: await picture(9, 9).tiff().toBuffer(),
        pdf: Buffer.from('%PDF-1.4\n%%EOF'),
        html: Buffer.from('<html></html>'),
        'cut off': whole.subarray(0, 5000),
        'a head only': whole.subarray(0, 40),
      }

      for (const [what, content] of Object.entries(bad)) expect((await send(content)).status, what).to.equal(400)
      expect(await temporaryFiles()).to.deep.equal([])
    })

    /** Contract: 3, Uploads. */
    it('refuses more than 40 megapixels without unpacking them; of an animation the first frame counts', async () => {
      const bomb = await send(bombPng(40_000, 40_000))
      const film = await send(sparseGif(2000, 11))

      expect([bomb.status, film.status]).to.deep.equal([400, 201])
      expect(bomb.body.error).to.match(/40 megapixels/)
    })

    it('takes a file of exactly 8 MiB and refuses one byte more with 413', async () => {
      const png = await picture(9, 9).png().toBuffer()
      const padded = (bytes: number) => Buffer.concat([png, Buffer.alloc(bytes - png.length)])

      const largest = await send(padded(8 * 1024 * 1024))
      const tooLarge = await send(padded(8 * 1024 * 1024 + 1))

      expect([largest.status, tooLarge.status]).to.deep.equal([201, 413])
      await emptied(temporaryFiles)
    })

    it('refuses files over 8 MiB with 413, also when the length is not announced', async () => {
      const announced = await send(Buffer.alloc(8 * 1024 * 1024 + 1))
      const unannounced = await sendChunked(identity, {
        statement: statementOf(identity, user),
        bytes: 9 * 1024 * 1024,
      })

      expect([announced.status, unannounced]).to.deep.equal([413, 413])
      await emptied(temporaryFiles)
    })

    it('refuses forms without the field, with several files, broken ones and other bodies', async () => {
      const png = await picture(9, 9).png().toBuffer()
      const two = new FormData()
      for (const name of ['a.png', 'b.png']) two.append('file', new File([new Uint8Array(png)], name))
      const post = (body: unknown, headers = {}) => identity.call('POST', '/api/uploads', { as: user, body, headers })

      expect((await send(png, { field: 'other' })).status).to.equal(400)
      expect((await post(two)).status).to.equal(400)
      expect((await post('nonsense', { 'content-type': 'multipart/form-data; boundary=x' })).status).to.equal(400)
      expect((await post('nonsense', { 'content-type': 'multipart/form-data' })).status).to.equal(400)
      expect((await post({ file: 'x' })).status).to.equal(415)
      await emptied(temporaryFiles)
    })

    it('stays when a form is made to break its parser', async () => {
      const post = async (body: string, boundary = 'x') => {
        const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
        return (await identity.call('POST', '/api/uploads', { as: user, body, headers })).status
      }
      const field = 'Content-Disposition: form-data; name="a"'
      const part = (...headers: string[]) => `--x\r\n${headers.join('\r\n')}\r\n\r\nhi\r\n`
      const forms = {
        'an encoding that Node does not know': part(field, 'Content-Transfer-Encoding: 7bit'),
        'a charset without a value': part(field, 'Content-Type: text/plain; charset'),
        'a name within a name': part(`${field}; filename="${'filename="'.repeat(100_000)}x`),
        'a header without an end': `--x\r\nA: ${'a'.repeat(1_000_000)}`,
        'many fields': part(field).repeat(1_000),
      }

      for (const [what, form] of Object.entries(forms))
        expect(await post(`${form}--x--\r\n`), what).to.be.oneOf([400, 413])
      for (const name of ['urlencoded', 'json', 'octet-stream'])
        expect(await post('a&'.repeat(500_000), name)).to.equal(400)
      expect((await send(await picture(9, 9).png().toBuffer())).status).to.equal(201)
      expect(await temporaryFiles()).to.deep.equal([])
    })

    it('accepts nothing from anonymous callers', async () => {
      const body = new FormData()
      body.set('file', new File([new Uint8Array(await picture(9, 9).png().toBuffer())], 'x.png'))

      expect((await identity.call('POST', '/api/uploads', { body })).status).to.equal(401)
    })

    it('removes the temporary file of an upload that is interrupted', async () => {
      const outgoing = request(`${identity.url}/api/uploads`, {
        method: 'POST',
        headers: { [callerHeader]: statementOf(identity, user), 'content-type': 'multipart/form-data; boundary=x' },
      })
      outgoing.on('error', () => undefined)
      outgoing.write(formHead)
      outgoing.write(Buffer.alloc(100_000))
      await emptied(async () => ((await temporaryFiles()).length === 1 ? [] : ['not there yet']))

      outgoing.destroy()

      await emptied(temporaryFiles)
    })

    it('takes nothing while the free space of the disk is below its mark', async () => {
      const png = await picture(9, 9).png().toBuffer()
      const { freeDiskBytes } = identity.deps

      identity.deps.freeDiskBytes = async () => policy.uploadFreeBytesMin
      const enough = await send(png)
      identity.deps.freeDiskBytes = async () => policy.uploadFreeBytesMin - 1
      const tooLittle = await send(png)

      identity.deps.freeDiskBytes = freeDiskBytes
      expect([enough.status, tooLittle.status]).to.deep.equal([201, 503])
      expect(tooLittle.headers.get('retry-after')).to.equal('60')
      expect(await freeDiskBytes(identity.config.uploadDir)).to.be.greaterThan(0)
      const metrics = await (await fetch(`${identity.url}/metrics`)).text()
      expect(metrics).to.match(/^gatehouse_upload_disk_free_bytes [1-9]/m)
    })

    it('refuses a picture that takes too much memory with 400, and one that takes too long with 503', async () => {
      const avif = await readFile(join(import.meta.dirname, '../../../libs/uploads/test/39-megapixels.avif'))
      const { images, log } = identity.deps
      const sendWithin = async (limits: { memoryBytes?: number; seconds?: number }) => {
        await using converter = startImageConverter({ log, metrics: createMetrics(), ...limits })
        identity.deps.images = converter
        return await send(avif)
      }

      const costly = await sendWithin({ memoryBytes: 120 * 1024 * 1024 })
      const slow = await sendWithin({ seconds: 0 })

      identity.deps.images = images
      expect([costly.status, costly.body.code]).to.deep.equal([400, 'image_too_costly'])
      expect([slow.status, slow.body.code, slow.headers.get('retry-after')]).to.deep.equal([503, 'images_busy', '2'])
      expect(await temporaryFiles()).to.deep.equal([])
    })

    describe('while the picture is converted', () => {
      const outcomes = {
        'the account is deleted': 'update users set is_deleted = true where id = ?',
        'the password changes': 'update users set password_changed_at = ? where id = ?',
      }
      for (const [what, change] of Object.entries(outcomes)) {
        it(`keeps neither row nor file when ${what}`, async () => {
          const changedAt = identity.clock.now() + 2_000
          const answer = await sendWhileConverting(async () => {
            const values = change.match(/\?/g)!.length === 2 ? [changedAt, user.id] : [user.id]
            await identity.deps.orm.em.fork().execute(change, values)
          })

          expect(answer.status).to.equal(401)
          expect(await column(identity, 'select filename from uploads where user_id = ?', [user.id])).to.deep.equal([])
        })
      }

      it('keeps no file when the row is gone before the file is there', async () => {
        const answer = await sendWhileConverting(async () => {
          await identity.deps.orm.em.fork().execute(`create rule gone as on insert to uploads do instead nothing`)
        })

        await identity.deps.orm.em.fork().execute('drop rule gone on uploads')
        expect(answer.status).to.equal(401)
      })

      /** The folder of finished files must not change. */
      async function sendWhileConverting(act: () => Promise<void>) {
        const { convert } = identity.deps.images
        identity.deps.images.convert = async (image) => {
          const size = await convert(image)
          await act()
          return size
        }
        const before = await readdir(identity.config.uploadDir)
        const answer = await send(await picture(9, 9).png().toBuffer())
        identity.deps.images.convert = convert
        expect(await readdir(identity.config.uploadDir)).to.deep.equal(before)
        await emptied(temporaryFiles)
        return answer
      }
    })

    describe('unclaimed uploads', () => {
      /** Uploads with a converter that gives files of that size. */
      const uploadSized = async (size: number) => {
        const images = {
          ...identity.deps.images,
          convert: async (image: { target: string }) => writtenTo(image.target),
        }
        const writtenTo = async (target: string) => {
          await writeFile(target, 'x')
          return size
        }
        const caller = { userId: user.id, tokenIssuedAt: Math.floor(identity.clock.now() / 1000) }
        const upload = () =>
          uploadImage({ ...identity.deps, images }, { caller, path: 'unread' }).then(
            () => ({ status: 201, code: 'kept' }),
            (error: Unavailable | Refusal) =>
              error instanceof Unavailable ? { status: 503, code: 'unavailable' } : error,
          )
        return (await untilAvailable(upload)).code
      }

      it('of one account are at most 10, also of 20 at once; the next is refused with 409 before it is read', async () => {
        const outcomes = await Promise.all(Array.from({ length: 20 }, () => uploadSized(9)))

        expect(outcomes.toSorted()).to.deep.equal([
          ...Array<string>(10).fill('kept'),
          ...Array<string>(10).fill('too_many_unclaimed_uploads'),
        ])
        const refused = await identity.call('POST', '/api/uploads', { as: user, body: 'no form at all' })
        expect(refused.status).to.equal(409)
        expect(refused.body.error).to.match(/^Too many unused uploads/)
      })

      it('of one account are at most 5 MiB, also of many at once', async () => {
        const outcomes = await Promise.all(Array.from({ length: 8 }, () => uploadSized(1024 * 1024)))

        expect(outcomes.filter((outcome) => outcome === 'kept')).to.have.length(5)
        expect(await uploadSized(1)).to.equal('too_many_unclaimed_uploads')
      })

      it('are no longer counted once a profile names them; those of others never are', async () => {
        const png = await picture(9, 9).png().toBuffer()
        const named = String((await send(png)).body.filename)
        for (let sent = 0; sent < 9; sent += 1) await uploadSized(9)
        expect((await send(png)).status).to.equal(409)

        await answered(identity.call('PATCH', '/api/users/@me', { as: user, body: { avatar: named } }))

        expect((await send(png)).status).to.equal(201)
        expect((await send(png)).status).to.equal(409)
        user = await buildUser(identity)
        expect((await send(png)).status).to.equal(201)
      })
    })
  })

  describe('the cleanup', () => {
    it('removes uploads that no profile claimed within a day, and nothing else', async () => {
      const png = await picture(9, 9).png().toBuffer()
      const [named, loose] = [String((await send(png)).body.filename), String((await send(png)).body.filename)]
      await answered(identity.call('PATCH', '/api/users/@me', { as: user, body: { avatar: named } }))

      identity.clock.advance(24 * 60 * 60 * 1000)
      await identity.deps.uploadCleanup.runNow()
      expect((await get(loose)).status).to.equal(200)

      identity.clock.advance(1)
      const fresh = String((await send(png)).body.filename)
      await Promise.all([identity.deps.uploadCleanup.runNow(), identity.deps.uploadCleanup.runNow()])

      const statuses = await Promise.all([named, loose, fresh].map(async (name) => (await get(name)).status))
      expect(statuses).to.deep.equal([200, 404, 200])
      const names = await column(identity, 'select filename from uploads where user_id = ?', [user.id])
      expect(names).to.have.members([named, fresh])
    })

    it('removes temporary files that are older than an hour', async () => {
      const folder = join(identity.config.uploadDir, '.incoming')
      for (const name of ['old', 'new']) await writeFile(join(folder, name), 'x')
      const now = identity.clock.now() / 1000
      await utimes(join(folder, 'old'), now - 3601, now - 3601)
      await utimes(join(folder, 'new'), now - 3000, now - 3000)

      await identity.deps.uploadCleanup.runNow()

      expect(await temporaryFiles()).to.deep.equal(['new'])
    })

    it('runs when the service starts', async () => {
      await using starting = await startTestIdentity()
      const { id } = await buildUser(starting)
      const filename = 'of-1970.webp'
      await insertRow(starting, 'uploads', {
        filename,
        user_id: id,
        size: 1,
        mimetype: 'image/webp',
        created_at: new Date(5),
      })
      const rows = () => column(starting, 'select filename from uploads')
      expect(await rows()).to.deep.equal([filename])

      starting.timer.advance(0)

      await eventually('the cleanup has run', async () => (await rows()).length === 0)
    })
  })
})

/** Contract: 3, uploads; 8, UPLOAD_STORE. */
for (const kind of ['file', 's3'] as const) {
  describe(`GET /api/uploads/:filename from a store of the kind ${kind}`, () => {
    let s3: TestS3
    let identity: TestIdentity
    let user: User
    let filename: string
    let content: Buffer
    const { send, get } = clientOf(() => ({ identity, user }))
    before(async () => {
      s3 = await startS3()
      identity = await startTestIdentity(kind === 's3' ? { config: { uploadStore: s3.config } } : {})
      user = await buildUser(identity)
      filename = String((await send(await picture(200, 100).png().toBuffer())).body.filename)
      content = Buffer.from(await (await get(filename)).arrayBuffer())
    })

    after(async () => {
      await identity[Symbol.asyncDispose]()
      await s3[Symbol.asyncDispose]()
    })

    it('is where the upload is, and nowhere else', async () => {
      const folder = (await readdir(identity.config.uploadDir)).filter((name) => name !== '.incoming')
      const there = { file: [[filename], []], s3: [[], [`some/where/${filename}`]] }

      expect([folder, [...s3.objects.keys()]]).to.deep.equal(there[kind])
    })

    it('answers with the file, immutable and sandboxed', async () => {
      const answer = await get(filename)

      expect(answer.status).to.equal(200)
      expect(Object.fromEntries(answer.headers)).to.include({
        'content-type': 'image/webp',
        'content-length': String(content.length),
        'cache-control': 'public, max-age=31536000, immutable',
        'content-security-policy': "default-src 'none'; sandbox",
        'accept-ranges': 'bytes',
      })
    })

    it('answers HEAD with the same headers and no body', async () => {
      const { status, headers, text } = await identity.call('HEAD', `/api/uploads/${filename}`)

      expect([status, text, headers.get('content-length')]).to.deep.equal([200, '', String(content.length)])
    })

    it('answers ranges with 206, those outside with 416, and several with the whole', async () => {
      const part = async (range: string) => {
        const answer = await get(filename, { range })
        return { status: answer.status, range: answer.headers.get('content-range'), bytes: await answer.bytes() }
      }
      const size = content.length

      const middle = await part('bytes=10-19')
      const tail = await part('bytes=-5')
      const outside = await part(`bytes=${size}-`)

      expect(middle).to.deep.include({ status: 206, range: `bytes 10-19/${size}` })
      expect(Buffer.from(middle.bytes).equals(content.subarray(10, 20))).to.equal(true)
      expect(Buffer.from(tail.bytes).equals(content.subarray(-5))).to.equal(true)
      expect(outside).to.include({ status: 416, range: `bytes */${size}` })
      expect((await part('bytes=0-1,3-4')).status).to.equal(200)
    })

    it('answers 304 to a matching If-None-Match, and the whole when If-Range names another version', async () => {
      const etag = (await get(filename)).headers.get('etag')!
      const known = { 'if-none-match': etag, 'cache-control': 'max-age=0' }

      expect((await get(filename, known)).status).to.equal(304)
      expect((await get(filename, { range: 'bytes=0-1', 'if-range': etag })).status).to.equal(206)
      expect((await get(filename, { range: 'bytes=0-1', 'if-range': '"other"' })).status).to.equal(200)
    })

    if (kind === 's3') {
      it('answers 503 where the store breaks off before the first byte, and then the file', async () => {
        s3.faults.next = (method) => (method === 'GET' ? 'cut' : undefined)
        const refused = [await get(filename), await get(filename, { range: 'bytes=0-1' })]
        const head = await identity.call('HEAD', `/api/uploads/${filename}`)
        s3.faults.next = undefined

        for (const { status, headers } of refused)
          expect([status, headers.get('retry-after'), headers.get('cache-control')]).to.deep.equal([503, '1', null])
        expect([head.status, (await get(filename)).status]).to.deep.equal([200, 200])
      })
    }

    it('answers 404 to unknown names, paths, folders, links and temporary files', async () => {
      await writeFile(join(identity.config.uploadDir, '..', 'secret.webp'), 'secret')
      await symlink('../secret.webp', join(identity.config.uploadDir, 'link.webp'))
      const names = [
        'nothing.webp',
        '..%2Fsecret.webp',
        '%2e%2e%2fsecret.webp',
        '..%5Csecret.webp',
        '.incoming',
        'link.webp',
        'a%00.webp',
        '%zz',
        `${'x'.repeat(300)}.webp`,
        '.incoming%2Fx',
      ]

      for (const name of names) expect((await get(name)).status, name).to.equal(404)
      expect((await get('nothing.webp')).headers.get('cache-control')).to.equal(null)
    })

    it('offers anything but images as a download', async () => {
      const path = join(identity.config.uploadDir, '.incoming', 'page')
      await writeFile(path, '<script>1</script>')
      await identity.deps.uploadStore.put('page.html', path)

      const { headers } = await get('page.html')

      expect(headers.get('content-type')).to.equal('application/octet-stream')
      expect(headers.get('content-disposition')).to.equal('attachment')
    })
  })
}

describe('an S3 that is away', () => {
  let s3: TestS3
  let identity: TestIdentity
  let user: User
  const { send, get } = clientOf(() => ({ identity, user }))
  const png = () => picture(9, 9).png().toBuffer()
  beforeEach(async () => {
    s3 = await startS3()
    identity = await startTestIdentity({ config: { uploadStore: s3.config } })
    user = await buildUser(identity)
  })
  afterEach(async () => {
    await identity[Symbol.asyncDispose]()
    await s3[Symbol.asyncDispose]()
  })

  /** Contract: 8, UPLOAD_STORE. */
  it('is 503 with Retry-After, costs no account its uploads, and is back without a restart', async () => {
    const { filename } = (await send(await png())).body
    const rows = () => column(identity, 'select filename from uploads')
    const dependencies = async () => (await (await fetch(`${identity.url}/readyz?verbose`)).json()) as object
    expect(await dependencies()).to.have.nested.include({ ready: true, 'dependencies.uploads': true })

    await s3[Symbol.asyncDispose]()
    for (let sent = 0; sent < 12; sent += 1) {
      const { status, body, headers } = await send(await png())
      expect([status, body.code, headers.get('retry-after')]).to.deep.equal([503, 'unavailable', '1'])
    }
    const answer = await get(String(filename))
    expect([answer.status, answer.headers.get('retry-after'), answer.headers.get('cache-control')]).to.deep.equal([
      503,
      '1',
      null,
    ])
    expect(await answer.json()).to.include({ code: 'unavailable' })
    expect(await dependencies()).to.have.nested.include({ ready: true, 'dependencies.uploads': false })
    expect(await rows()).to.deep.equal([filename])

    const port = Number(new URL(s3.config.endpoint).port)
    await using back = await startS3({ port })
    const again = await send(await png())
    expect([again.status, [...back.objects.keys()]]).to.deep.equal([201, [`some/where/${String(again.body.filename)}`]])
  })

  it('is asked again for each removal, and also for an upload whose answer was lost', async () => {
    const { filename } = (await send(await png())).body
    s3.faults.next = (method) => (method === 'DELETE' ? 503 : undefined)
    identity.clock.advance(24 * 60 * 60 * 1000 + 1)

    await identity.deps.uploadCleanup.runNow()
    expect(await column(identity, 'select filename from file_removals')).to.deep.equal([filename])
    expect(s3.objects.size).to.equal(1)

    // It keeps the object and answers with a fault.
    s3.faults.next = (method, key) => (method === 'PUT' ? (s3.objects.set(key, Buffer.from('x')), 503) : undefined)
    expect((await send(await png())).status).to.equal(503)
    expect(s3.objects.size).to.equal(2)
    s3.faults.next = undefined
    await identity.deps.uploadCleanup.runNow()
    expect([s3.objects.size, await column(identity, 'select filename from file_removals')]).to.deep.equal([0, []])
  })
})

/** Of what `given` gives when it is called. */
function clientOf(given: () => { identity: TestIdentity; user: User }) {
  async function send(
    content: Buffer,
    { name = 'photo.png', type = 'image/png', field = 'file', crop = null as string | null } = {},
  ) {
    const body = new FormData()
    if (crop !== null) body.set('crop', crop)
    body.set(field, new File([new Uint8Array(content)], name, { type }))
    const { identity, user } = given()
    return await identity.call('POST', '/api/uploads', { as: user, body })
  }
  const get = (filename: string, headers: Record<string, string> = {}) =>
    fetch(`${given().identity.url}/api/uploads/${filename}`, { headers: { [callerHeader]: statement(), ...headers } })
  const statement = () =>
    signTestCaller('identity', { address: '127.0.0.1', account: null }, given().identity.clock.now())
  return { send, get }
}

const formHead =
  '--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n'

function statementOf(identity: TestIdentity, user: User): string {
  const tokenIssuedAt = Math.floor(identity.clock.now() / 1000)
  const account = { userId: user.id, username: user.username, isAdmin: false, tokenIssuedAt }
  return signTestCaller('identity', { address: '127.0.0.1', account }, identity.clock.now())
}

/** Sends a form of that many bytes without Content-Length, and gives the status. */
async function sendChunked(identity: TestIdentity, given: { statement: string; bytes: number }): Promise<number> {
  return await new Promise((resolve, reject) => {
    const outgoing = request(`${identity.url}/api/uploads`, {
      method: 'POST',
      headers: { [callerHeader]: given.statement, 'content-type': 'multipart/form-data; boundary=x' },
    })
    outgoing.on('response', (answer) => resolve(answer.resume().statusCode!)).on('error', reject)
    outgoing.write(formHead)
    outgoing.write(Buffer.alloc(given.bytes))
    outgoing.end('\r\n--x--\r\n')
  })
}

/** Resolves once a folder is empty; the form parser removes its files a moment later. */
async function emptied(list: () => Promise<string[]>): Promise<void> {
  await eventually('an empty folder', async () => (await list()).length === 0)
}
