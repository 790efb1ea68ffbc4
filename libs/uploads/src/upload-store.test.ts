import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { startS3, type TestS3 } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { createFileStore } from './file-store.ts'
import { createS3Store } from './s3-store.ts'
import { UploadStoreRefused, UploadStoreUnavailable, type UploadStore } from './upload-store.ts'

let folder: string
let s3: TestS3
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'upload-store-'))
  s3 = await startS3()
})
after(async () => {
  await s3[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

async function put(store: UploadStore, name: string, content: string | Buffer): Promise<void> {
  const path = join(folder, 'new')
  await writeFile(path, content)
  await store.put(name, path)
}
const read = async (store: UploadStore, name: string, range?: { start: number; end: number }) => {
  const found = await store.open(name, range)
  return found && { size: found.size, text: (await buffer(found.content)).toString() }
}
const listed = async (store: UploadStore) => {
  const found: { name: string; size: number }[] = []
  for await (const one of store.list()) found.push(one)
  return found.toSorted((a, b) => a.name.localeCompare(b.name))
}

const stores = {
  file: async () => {
    await mkdir(join(folder, 'files/.incoming'), { recursive: true })
    return createFileStore(join(folder, 'files'))
  },
  s3: async () => createS3Store(s3.config),
}

/** Contract: 8, UPLOAD_STORE. */
for (const [kind, openStore] of Object.entries(stores)) {
  describe(`uploads in a store of the kind ${kind}`, () => {
    let store: UploadStore
    before(async () => void (store = await openStore()))

    it('are whole, or a range of them, with the size of the whole', async () => {
      await put(store, 'a.webp', '0123456789')

      expect(await store.find('a.webp')).to.deep.equal({ size: 10 })
      expect(await read(store, 'a.webp')).to.deep.equal({ size: 10, text: '0123456789' })
      expect(await read(store, 'a.webp', { start: 3, end: 5 })).to.deep.equal({ size: 10, text: '345' })
      await put(store, 'empty', '')
      expect(await read(store, 'empty')).to.deep.equal({ size: 0, text: '' })
    })

    it('are replaced as a whole by a repeated run, and removed once, twice or never', async () => {
      await put(store, 'b.webp', 'first')
      await put(store, 'b.webp', 'second one')
      expect(await read(store, 'b.webp')).to.deep.equal({ size: 10, text: 'second one' })

      await store.remove('b.webp')
      await store.remove('b.webp')

      expect([await store.find('b.webp'), await store.open('b.webp')]).to.deep.equal([null, null])
    })

    it('are listed all, also beyond a page, and nothing else is', async () => {
      for (const { name } of await listed(store)) await store.remove(name)
      const names = Array.from({ length: 8 }, (_, index) => `file-${index}.webp`)
      for (const name of names) await put(store, name, name)
      s3.objects.set('some/where/.hidden', Buffer.from('x'))
      s3.objects.set('some/where/else/file.webp', Buffer.from('x'))
      s3.objects.set('another.webp', Buffer.from('x'))

      expect(await listed(store)).to.deep.equal(names.map((name) => ({ name, size: name.length })))
    })

    it('are not found by names that lead elsewhere', async () => {
      for (const name of ['', '.', '..', '../new', '.incoming', 'a/b', 'else/file.webp', 'a\0', 'x'.repeat(200)]) {
        expect([await store.find(name), await store.open(name)], name).to.deep.equal([null, null])
      }
    })

    it('are as many as are read at once, however slow the others are', async () => {
      await put(store, 'large', Buffer.alloc(1_000_000, 'x'))
      const slow = await Promise.all(Array.from({ length: 40 }, () => store.open('large')))

      expect((await read(store, 'large'))?.text).to.have.length(1_000_000)
      for (const found of slow) found?.content.destroy()
    })
  })
}

describe('uploads in a folder', () => {
  it('are no links and no folders', async () => {
    const store = await stores.file()
    await writeFile(join(folder, 'secret'), 'secret')
    await symlink('../secret', join(folder, 'files/link'))
    await mkdir(join(folder, 'files/folder'))

    for (const name of ['link', 'folder']) {
      expect([await store.find(name), await store.open(name)], name).to.deep.equal([null, null])
    }
    expect((await listed(store)).map(({ name }) => name)).to.not.include.members(['link', 'folder'])
  })
})

describe('uploads in S3', () => {
  let other: Server
  before(async () => {
    other = createServer(
      (_, response) => void response.writeHead(301).end('<Error><Code>PermanentRedirect</Code></Error>'),
    )
    await once(other.listen(0, '127.0.0.1'), 'listening')
  })
  after(() => other.close())
  const outcome = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: Error) => error,
    )

  it('are refused with a wrong key, secret, session, region or bucket, before and after the start', async () => {
    const wrong = {
      accessKeyId: ['AKOTHER', 'InvalidAccessKeyId'],
      secretAccessKey: ['another secret', 'SignatureDoesNotMatch'],
      sessionToken: ['another session', 'InvalidToken'],
      region: ['test-2', 'InvalidAccessKeyId'],
      bucket: ['no-bucket', 'NoSuchBucket'],
      endpoint: [`http://127.0.0.1:${(other.address() as AddressInfo).port}`, 'PermanentRedirect'],
    }
    for (const [setting, [value = '', code]] of Object.entries(wrong)) {
      const store = createS3Store({ ...s3.config, [setting]: value })
      const putOne = () => put(store, 'a.webp', 'x')
      for (const work of [() => store.open('a.webp'), () => store.remove('a.webp'), putOne, () => listed(store)]) {
        const error = await outcome(work())
        expect(error, setting).to.be.instanceOf(UploadStoreRefused)
        expect(String(error), setting).to.include(code).and.not.include('secret')
      }
      expect(await outcome(store.check()), setting).to.be.instanceOf(UploadStoreRefused)
    }
    expect(await outcome(createS3Store(s3.config).check())).to.equal('done')
  })

  it('are tried again after a passing fault, and 503 while it lasts', async () => {
    const store = createS3Store(s3.config)
    let failures = 2
    s3.faults.next = () => (failures-- > 0 ? 503 : undefined)
    await put(store, 'kept.webp', 'kept')
    expect((await read(store, 'kept.webp'))?.text).to.equal('kept')

    s3.faults.next = () => 503
    for (const work of [() => store.find('kept.webp'), () => put(store, 'lost', 'x'), () => listed(store)]) {
      expect(await outcome(work()))
        .to.be.instanceOf(UploadStoreUnavailable)
        .and.not.instanceOf(UploadStoreRefused)
    }
    s3.faults.next = undefined
  })
})
