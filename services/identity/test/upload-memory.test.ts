import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import sharp from 'sharp'
import type { User } from '@gatehouse/domain'
import { systemClock } from '@gatehouse/runtime'
import {
  createServiceClient,
  eventually,
  freePort,
  insertUser,
  openMigratedDatabase,
  testCallerKeys,
  testNats,
  testRedis,
  type ServiceClient,
} from '@gatehouse/test-kit'
import { bombPng, sparseGif } from './large-images.ts'

const mebibyte = 1024 * 1024
const rounds = 3

if (process.platform === 'linux') {
  describe('the memory that uploads take', () => {
    let opening: AsyncDisposableStack
    let pid: number
    let users: User[]
    let call: ServiceClient
    before(async () => {
      opening = new AsyncDisposableStack()
      const { urlFor, orm } = opening.use(await openMigratedDatabase())
      users = await Promise.all(Array.from({ length: rounds }, () => insertUser({ orm })))
      const identity = await startIdentityProcess(opening, urlFor('identity'))
      pid = identity.child.pid ?? 0
      call = createServiceClient({ ...identity, name: 'identity', clock: systemClock })
    })
    after(async () => await opening.disposeAsync())

    it('stays below 256 MiB in the service whatever is uploaded, and bounded in its conversion process', async () => {
      const images = await largeImages()
      const statuses: Record<string, number[]> = {}

      for (const user of users) {
        for (const [name, content] of Object.entries(images)) {
          const body = new FormData()
          body.set('file', new File([new Uint8Array(content)], name))
          const { status } = await call('POST', '/api/uploads', { as: user, body })
          statuses[name] = [...(statuses[name] ?? []), status]
        }
      }

      const all = (status: number) => [status, status, status]
      expect(statuses).to.deep.equal({
        avif: all(400),
        'interlaced 16-bit png': all(400),
        'progressive jpeg': all(201),
        gif: all(201),
        'animated webp': all(201),
        '8 MiB': all(201),
      })
      expect(peakBytes(pid)).to.be.below(256 * mebibyte)
      expect(peakBytes(conversionPidOf(pid))).to.be.below(448 * mebibyte)
    })
  })
}

/** The program of the service, as it is deployed, which ends with `opening`. */
async function startIdentityProcess(
  opening: AsyncDisposableStack,
  databaseUrl: string,
): Promise<{ url: string; child: ChildProcess }> {
  const folder = opening.adopt(await mkdtemp(join(tmpdir(), 'identity-')), (path) => rm(path, { recursive: true }))
  const port = await freePort()
  const env = {
    PATH: process.env['PATH'],
    DATABASE_URL: databaseUrl,
    NATS_URL: opening.use(await testNats()).url,
    REDIS_URL: opening.use(await testRedis()).url,
    CALLER_KEYS: testCallerKeys.lines.join('\n'),
    JWT_SECRET: 'a secret for the tokens of the test of memory',
    ENCRYPTION_SECRET: 'a secret that encrypts in the test of memory',
    PUBLIC_ORIGIN: 'https://here.example',
    HOST: '127.0.0.1',
    IDENTITY_PORT: String(port),
    UPLOAD_DIR: join(folder, 'uploads'),
    LOG_LEVEL: 'error',
  }
  const program = join(import.meta.dirname, '../src/main.ts')
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  opening.defer(async () => {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  })
  const url = `http://127.0.0.1:${port}`
  const isHealthy = () => fetch(`${url}/healthz`).then(({ ok }) => ok)
  await eventually('the service', isHealthy, 50_000)
  return { url, child }
}

/** Each of 39.9 megapixels in a frame, but for the last, which is large as a file. */
async function largeImages(): Promise<Record<string, Buffer>> {
  const side = 6320
  const create = { width: side, height: side, channels: 3 as const, background: 'red' }
  const png = await sharp({ create: { ...create, width: 9, height: 9 } })
    .png()
    .toBuffer()
  return {
    avif: readFileSync(join(import.meta.dirname, '../../../libs/uploads/test/39-megapixels.avif')),
    'interlaced 16-bit png': bombPng(side, side, { depth: 16, isInterlaced: true }),
    'progressive jpeg': await sharp({ create }).jpeg({ progressive: true }).toBuffer(),
    gif: sparseGif(side, 3),
    'animated webp': await sharp({ create: { ...create, height: 2 * side, pageHeight: side }, limitInputPixels: false })
      .webp({ lossless: true, effort: 0, loop: 0 })
      .toBuffer(),
    '8 MiB': Buffer.concat([png, Buffer.alloc(8 * mebibyte - png.length)]),
  }
}

/** VmHWM of proc_pid_status(5). */
function peakBytes(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024
}

function conversionPidOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
  return children.find((each) => readFileSync(`/proc/${each}/cmdline`, 'utf8').includes('conversion-process'))!
}
