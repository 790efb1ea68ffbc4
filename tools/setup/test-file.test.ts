import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { runTestFile } from './test-file.ts'

describe('a test file', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-file-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function run(source: string, signal = new AbortController().signal) {
    const file = join(folder, 'some.test.ts')
    await writeFile(file, source)
    return runTestFile(file, { ...process.env, GATEHOUSE_TEST_TITLES: '' }, signal)
  }

  it('counts what passes and what fails, and shows the failure', async () => {
    const report = await run(`it('holds', () => {}); it('breaks', () => { throw new Error('the reason') })`)

    expect(report).to.include({ passed: 1, failed: 1 })
    expect(report.output).to.include('breaks').and.to.include('the reason')
  })

  it('has pending tests counted as failed', async () => {
    expect(await run(`it('holds', () => {}); it('will hold one day')`)).to.include({ passed: 1, failed: 1 })
  })

  it('fails when it does not load', async () => {
    const report = await run(`import './nothing.ts'`)

    expect(report).to.include({ passed: 0, failed: 1 })
    expect(report.output).to.include('nothing.ts')
  })

  it('fails when it holds no test', async () => {
    expect(await run('export {}')).to.include({ passed: 0, failed: 1 })
  })

  it('fails when its process ends half way', async () => {
    expect(await run(`it('holds', () => {}); it('ends', () => process.exit(0))`)).to.include({ passed: 0, failed: 1 })
  })

  it('fails when something throws after its last test', async () => {
    const report = await run(`it('holds', () => { setTimeout(() => { throw new Error('late') }, 50) })`)

    expect(report).to.include({ passed: 1, failed: 1 })
    expect(report.output).to.include('late')
  })

  it('runs no further than the run that it belongs to', async () => {
    const report = await run(
      `it('hangs', () => new Promise(() => setInterval(() => {}, 1000)))`,
      AbortSignal.timeout(500),
    )

    expect(report.failed).to.equal(1)
    expect(report.output).to.include('SIGKILL')
  })
})
