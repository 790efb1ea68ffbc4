import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import sharp from 'sharp'
import { createMetrics } from '@gatehouse/service-kit'
import { capturedLog } from '@gatehouse/test-kit'
import { policy } from './policy.ts'
import { startImageConverter, type ImageConverter } from './image-converter.ts'

/** Its coefficients take 6 bytes for each pixel. */
const wholeProgressive = { progressive: true, chromaSubsampling: '4:4:4' }

describe('the image converter', () => {
  const { log, lines } = capturedLog()
  let opening: AsyncDisposableStack
  let folder: string
  let small: string
  let large: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'images-'))
    const red = { create: { width: 9, height: 9, channels: 3 as const, background: 'red' } }
    small = await kept('small.png', await sharp(red).png().toBuffer())
    const jpeg = sharp({ create: { ...red.create, width: 6320, height: 6320 } }).jpeg(wholeProgressive)
    large = await kept('large.jpg', await jpeg.toBuffer())
  })
  after(async () => await rm(folder, { recursive: true }))
  beforeEach(() => void (opening = new AsyncDisposableStack()))
  afterEach(async () => await opening.disposeAsync())

  async function kept(name: string, content: Buffer): Promise<string> {
    await writeFile(join(folder, name), content)
    return join(folder, name)
  }
  const start = (limits: { memoryBytes?: number; seconds?: number } = {}) =>
    opening.use(startImageConverter({ log, metrics: createMetrics(), ...limits }))
  const target = () => join(folder, 'target.webp')
  const convert = (converter: ImageConverter, path: string, userId = 'a') =>
    converter.convert({ userId, path, target: target() })
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'converted',
      (error: { code: string }) => error.code,
    )

  it('writes WebP, in a process without the secrets of the service', async () => {
    process.env['JWT_SECRET'] = 'a secret that stays in this process'
    const converter = start()

    const bytes = await convert(converter, small)
    delete process.env['JWT_SECRET']

    const written = await readFile(target())
    expect(written).to.have.length(bytes)
    expect((await sharp(written).metadata()).format).to.equal('webp')
    if (process.platform !== 'linux') return
    expect(readFileSync(`/proc/${conversionPid()}/environ`, 'utf8')).to.not.contain('a secret')
    expect(readFileSync(`/proc/${conversionPid()}/oom_score_adj`, 'utf8').trim()).to.equal('1000')
  })

  it('converts in turns by account, and refuses only the account that sends too many', async () => {
    const converter = start()
    const order: string[] = []
    const send = (userId: string) => codeOf(convert(converter, small, userId).then(() => order.push(userId)))

    const flood = Array.from({ length: 40 }, () => send('flood'))
    const others = [send('other'), send('third')]

    expect(await Promise.all(others)).to.deep.equal(['converted', 'converted'])
    const outcomes = await Promise.all(flood)
    expect(outcomes.filter((code) => code === 'images_busy')).to.have.length(39 - policy.imagesPerAccount)
    expect(order).to.deep.equal(['flood', 'flood', 'other', 'third', 'flood'])
  })

  it('refuses with 503 and Retry-After what exceeds the queue of all accounts', async () => {
    const converter = start()
    const works = Array.from({ length: policy.imageQueue + 2 }, (_, index) =>
      convert(converter, small, `user ${index}`),
    )

    const outcomes = await Promise.allSettled(works)

    const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
    expect(refused).to.have.length(1)
    expect(refused[0]!.reason).to.deep.include({ code: 'images_busy', status: 503, headers: { 'Retry-After': '2' } })
  })

  if (process.platform === 'linux') {
    it('kills a conversion that exceeds its memory: it is refused, those that wait are converted', async () => {
      const converter = start({ memoryBytes: 150 * 1024 * 1024 })
      await convert(converter, small)
      const pid = conversionPid()

      const outcomes = await Promise.all(
        [large, small].map((path, index) => codeOf(convert(converter, path, `${index}`))),
      )

      expect(outcomes).to.deep.equal(['image_too_costly', 'converted'])
      expect(conversionPid()).to.not.equal(pid)
      expect(lines.some(({ reason }) => reason === 'a conversion took too much memory')).to.equal(true)
      expect(lines.filter(({ level }) => level === 'error')).to.deep.equal([])
    })
  }

  it('kills a conversion that exceeds its time, and refuses it with 503', async () => {
    expect(await codeOf(convert(start({ seconds: 0 }), large))).to.equal('images_busy')
  })

  it('continues when its process is killed from outside: the running image is refused with 503', async () => {
    const converter = start()
    await convert(converter, small)
    const works = [codeOf(convert(converter, large, 'a')), codeOf(convert(converter, small, 'b'))]

    process.kill(conversionPid(), 'SIGKILL')

    expect(await Promise.all(works)).to.deep.equal(['unavailable', 'converted'])
  })

  it('refuses images whose header promises more than the memory holds, before it decodes them', async () => {
    const avif = join(import.meta.dirname, '../test/39-megapixels.avif')
    const converter = start({ memoryBytes: 120 * 1024 * 1024 })

    expect(await codeOf(convert(converter, avif))).to.equal('image_too_costly')
    expect(lines.at(-1)?.['reason']).to.not.equal('a conversion took too much memory')
  })

  it('refuses images when it is closed', async () => {
    const converter = start()
    const outcome = codeOf(convert(converter, large))

    await converter[Symbol.asyncDispose]()

    expect(await outcome).to.equal('unavailable')
    expect(await codeOf(convert(converter, small))).to.equal('unavailable')
  })
})

/** The newest conversion process of this one. */
function conversionPid(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ').map(Number)
  return children.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('conversion-process')).at(-1)!
}
