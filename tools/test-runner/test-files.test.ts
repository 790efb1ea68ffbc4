import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { root as projectRoot } from '../setup/project.js'
import {
  heavyFiles,
  lastFile,
  listTestFiles,
  needsBrowser,
  planRun,
  readDurations,
  waitingFiles,
  writeDurations,
} from './test-files.ts'

describe('the test files', () => {
  let root: string
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'gatehouse-test-files-'))
    await create('libs/b/src/b.test.ts', '')
    await create('libs/b/src/b.ts', '')
    await create('libs/b/node_modules/c/c.test.ts', '')
    await create('libs/bb/bb.test.tsx', '')
    await create('test/browser/journey.test.ts', 'await launchChromium()')
  })
  afterEach(() => rm(root, { recursive: true }))

  async function create(path: string, source: string): Promise<void> {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), source)
  }

  it('are all of the project, except those of installed packages', () => {
    const all = ['libs/b/src/b.test.ts', 'libs/bb/bb.test.tsx', 'test/browser/journey.test.ts']

    expect(listTestFiles(root, [])).to.deep.equal(all)
  })

  it('can be selected by folder and by file, each once', () => {
    expect(listTestFiles(root, ['libs/b', 'libs/b/src/b.test.ts'])).to.deep.equal(['libs/b/src/b.test.ts'])
    expect(listTestFiles(root, ['./test/'])).to.deep.equal(['test/browser/journey.test.ts'])
  })

  it('must exist at each of the paths', () => {
    expect(() => listTestFiles(root, ['libs', 'libs/c'])).to.throw('no test file at libs/c')
  })

  it('are searched for the use of a browser', () => {
    expect(needsBrowser(root, ['libs/b/src/b.test.ts'])).to.equal(false)
    expect(needsBrowser(root, listTestFiles(root, []))).to.equal(true)
  })
})

describe('the plan of a run', () => {
  it('begins with what took longest, or else with the whole system', () => {
    const files = ['libs/a/a.test.ts', 'libs/b/b.test.ts', 'services/c/c.test.ts', 'test/d.test.ts']

    expect(planRun(files, {}).parallel[0]).to.deep.equal(['test/d.test.ts'])
    expect(
      planRun(files, { 'libs/b/b.test.ts': 9, 'services/c/c.test.ts': 5, 'test/d.test.ts': 7 }).parallel.flat(),
    ).to.deep.equal(['libs/b/b.test.ts', 'test/d.test.ts', 'services/c/c.test.ts', 'libs/a/a.test.ts'])
  })

  it('puts short files of one folder into one process, up to a minute and a half', () => {
    const files = ['services/a/1.test.ts', 'services/a/2.test.ts', 'services/a/3.test.ts', 'services/b/1.test.ts']
    const durations = { 'services/a/1.test.ts': 60, 'services/a/2.test.ts': 50, 'services/a/3.test.ts': 20 }

    expect(planRun(files, durations).parallel).to.deep.equal([
      ['services/a/1.test.ts', 'services/a/3.test.ts'],
      ['services/a/2.test.ts'],
      ['services/b/1.test.ts'],
    ])
  })

  it('keeps apart the files that load the whole machine and those that wait, which exist', () => {
    const all = listTestFiles(projectRoot, [])
    const { heavy, waiting, parallel, last } = planRun(all, {})

    expect(last.flat()).to.deep.equal([lastFile])
    expect(heavy.flat()).to.have.members(heavyFiles)
    expect(waiting.flat()).to.have.members(waitingFiles)
    expect([...parallel, ...waiting, ...heavy, ...last].flat()).to.have.members(all)
  })

  it('knows the durations of earlier runs', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-durations-'))
    const path = join(folder, 'durations.json')
    expect(readDurations(path)).to.deep.equal({})

    writeDurations(path, [{ file: 'a', seconds: 1 }])
    writeDurations(path, [{ file: 'b', seconds: 2 }])

    expect(readDurations(path)).to.deep.equal({ a: 1, b: 2 })
    await rm(folder, { recursive: true })
  })
})
