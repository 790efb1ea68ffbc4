import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { listAllTestFiles, listTestFiles, needsBrowser } from './test-files.js'

describe('the test files', () => {
  let root: string
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'gatehouse-test-files-'))
    await place('libs/b/src/b.test.ts', '')
    await place('libs/b/src/b.ts', '')
    await place('libs/b/node_modules/c/c.test.ts', '')
    await place('test/browser/journey.test.ts', 'await launchChromium()')
  })
  afterEach(() => rm(root, { recursive: true }))

  async function place(path: string, source: string): Promise<void> {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), source)
  }

  it('are all below the known folders, installed packages aside', () => {
    expect(listAllTestFiles(root)).to.deep.equal(['libs/b/src/b.test.ts', 'test/browser/journey.test.ts'])
  })

  it('can be chosen by folder and by file, each once', () => {
    expect(listTestFiles(root, ['libs', 'libs/b/src/b.test.ts'])).to.deep.equal(['libs/b/src/b.test.ts'])
  })

  it('must exist where one asks for them', () => {
    expect(() => listTestFiles(root, ['libs/c'])).to.throw('No test file at libs/c')
  })

  it('tell whether a browser is needed', () => {
    expect(needsBrowser(root, ['libs/b/src/b.test.ts'])).to.equal(false)
    expect(needsBrowser(root, listAllTestFiles(root))).to.equal(true)
  })
})
