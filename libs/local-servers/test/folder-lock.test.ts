import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { FolderInUse, createFile, lockFolder } from '../src/index.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-lock-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('the lock of a folder', () => {
  it('holds until it is disposed of', () => {
    const lock = lockFolder(folder)

    expect(() => lockFolder(folder)).to.throw(FolderInUse)
    lock[Symbol.dispose]()
    lockFolder(folder)[Symbol.dispose]()
  })

  it('is stale when its process has ended, even if another process has its pid now', async () => {
    await writeFile(join(folder, 'owner'), `${process.pid} of another start\n`)

    lockFolder(folder)[Symbol.dispose]()

    expect(await readdir(folder)).to.deep.equal([])
  })
})

describe('a file that is created in one step', () => {
  it('has the content of the first of two, and is readable to its owner only', async () => {
    const file = join(folder, 'secrets.json')

    expect([createFile(file, 'first'), createFile(file, 'second')]).to.deep.equal([true, false])

    expect(await readFile(file, 'utf8')).to.equal('first')
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    expect(await readdir(folder)).to.deep.equal(['secrets.json'])
  })
})
