import fs, { type WriteStream } from 'node:fs'
import fsPromises, { readdir, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import type { User } from '@gatehouse/domain'
import { startS3, type TestS3 } from '@gatehouse/test-kit'
import { expect } from 'chai'
import sharp from 'sharp'
import { policy } from '../src/policy.ts'
import { buildUser } from './builders.ts'
import { column } from './chat.ts'
import { startTestIdentity, type TestIdentity, type TestResponse } from './harness.ts'

type Written = (error: Error, written: number, bytes: Buffer) => void

const noSpace = (code: string) =>
  Object.assign(new Error(`${code}: no space left on device, write`), { code, syscall: 'write' })

/** Puts other functions in the place of those of Node, for every import of them, until it is disposed. */
function replace<M extends object>(module: M, functions: Partial<M>): Disposable {
  const names = Object.keys(functions) as (keyof M)[]
  const original = Object.fromEntries(names.map((name) => [name, module[name]]))
  Object.assign(module, functions)
  syncBuiltinESMExports()
  return {
    [Symbol.dispose]: () => {
      Object.assign(module, original)
      syncBuiltinESMExports()
    },
  }
}

/** Contract: 3, uploads. */
for (const kind of ['file', 's3'] as const) {
  describe(`An upload to a store of the kind ${kind}, where the disk is full,`, () => {
    const scope = new AsyncDisposableStack()
    let s3: TestS3
    let identity: TestIdentity
    let user: User
    before(async () => {
      s3 = scope.use(await startS3())
      identity = scope.use(await startTestIdentity(kind === 's3' ? { config: { uploadStore: s3.config } } : {}))
    })
    beforeEach(async () => void (user = await buildUser(identity)))
    after(() => scope.disposeAsync())

    async function upload(): Promise<TestResponse> {
      const picture = sharp({ create: { width: 300, height: 300, channels: 3, background: 'red' } })
      const png = await picture.png({ compressionLevel: 0 }).toBuffer()
      const body = new FormData()
      body.set('file', new File([new Uint8Array(png)], 'a.png', { type: 'image/png' }))
      return await identity.call('POST', '/api/uploads', { as: user, body })
    }
    const stored = async () => [
      await readdir(identity.config.uploadDir),
      await readdir(`${identity.config.uploadDir}/.incoming`),
      [...s3.objects.keys()],
      await column(identity, 'select filename from uploads'),
      (await column(identity, 'select filename from file_removals')).length,
    ]
    /** More often than one account may have uploads under way or unclaimed. */
    async function expectRefusals(fault: Disposable): Promise<void> {
      using _fault = fault
      const before = await stored()
      for (let sent = 0; sent < 12; sent += 1) {
        const { status, body, headers } = await upload()
        expect([status, body['code'], headers.get('retry-after')]).to.deep.equal([
          503,
          'disk_full',
          String(policy.diskRetryAfterSeconds),
        ])
      }
      await identity.deps.uploadCleanup.removeRecordedFiles()
      expect(await stored()).to.deep.equal(before)
    }
    const expectRoom = async () => expect((await upload()).status).to.equal(201)

    it('when it is received, leaves no part of it, and succeeds when there is room', async () => {
      for (const code of ['ENOSPC', 'EDQUOT']) {
        const { createWriteStream } = fs
        const writeHalf = (fd: number, bytes: Buffer, ...[offset, length, , done]: [number, number, null, Written]) =>
          fs.write(fd, bytes, offset, Math.floor(length / 2), null, () => done(noSpace(code), 0, bytes))
        const half = (path: string, options: object): WriteStream =>
          createWriteStream(path, { ...options, fs: { ...fs, write: writeHalf } })
        await expectRefusals(replace(fs, { createWriteStream: half as typeof createWriteStream }))
        await expectRoom()
      }
    })

    it('when it is converted, leaves no part of it, and succeeds when there is room', async () => {
      const { images } = identity.deps
      // The process of the converter writes to a disk that is full, and only the message of its error comes back.
      const convert: typeof images.convert = async ({ target, ...image }) => {
        await writeFile(target, 'half')
        return await images.convert({ ...image, target: '/dev/full' })
      }
      identity.deps.images = { ...images, convert }
      await expectRefusals({ [Symbol.dispose]: () => void (identity.deps.images = images) })
      await expectRoom()
    })

    if (kind === 'file') {
      it('when it is stored on another disk, leaves no part of it, and succeeds when there is room', async () => {
        const rename = () => Promise.reject(Object.assign(new Error('EXDEV: cross-device link'), { code: 'EXDEV' }))
        const copyFile = async (_from: unknown, to: unknown) => {
          await writeFile(String(to), 'half')
          throw noSpace('ENOSPC')
        }
        await expectRefusals(replace(fsPromises, { rename, copyFile }))
        await expectRoom()
      })
    }

    it('is in the log once a minute, with the reason', () => {
      const lines = identity.logLines.filter(({ msg }) => msg === 'uploads are refused: the disk is full')

      expect(lines).to.have.length(1)
      expect(lines[0]).to.have.nested.property('err.message').that.includes('ENOSPC')
    })
  })
}
