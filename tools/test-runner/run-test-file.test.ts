import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { runTestFile } from './run-test-file.ts'

describe('a test file', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-file-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function run(source: string, options: { signal?: AbortSignal; limitMs?: number } = {}) {
    const file = join(folder, 'some.test.ts')
    await writeFile(file, source)
    const signal = new AbortController().signal
    return runTestFile({ file, env: process.env, reporter: 'dot', signal, ...options })
  }

  it('has its passed and failed tests counted, and its failures shown', async () => {
    const report = await run(`it('holds', () => {}); it('breaks', () => { throw new Error('the reason') })`)

    expect(report).to.include({ passed: 1, failed: 1 })
    expect(report.output).to.include('breaks').and.to.include('the reason')
  })

  it('fails when a test is pending or skipped', async () => {
    const report = await run(`it('holds', () => {}); it('pends'); it.skip('skips', () => {})`)

    expect(report).to.include({ passed: 1, failed: 2 })
    expect(report.output).to.include('pends').and.to.include('skips').and.to.include('Pending test forbidden')
  })

  it('fails when a suite is skipped', async () => {
    const report = await run(`describe.skip('all', () => { it('one', () => {}) })`)

    expect(report).to.include({ passed: 0, failed: 1 })
    expect(report.output).to.match(/pending test forbidden/i)
  })

  it('fails when it does not load', async () => {
    const report = await run(`import './nothing.ts'`)

    expect(report).to.include({ passed: 0, failed: 1 })
    expect(report.output).to.include('nothing.ts')
  })

  it('fails when it has no test', async () => {
    expect(await run('export {}')).to.include({ passed: 0, failed: 1 })
  })

  it('fails when its process exits during a test', async () => {
    expect(await run(`it('holds', () => {}); it('exits', () => process.exit(0))`)).to.include({ passed: 0, failed: 1 })
  })

  it('fails when something throws after its last test', async () => {
    const report = await run(`it('holds', () => { setTimeout(() => { throw new Error('late') }, 50) })`)

    expect(report).to.include({ passed: 1, failed: 1 })
    expect(report.output).to.include('late')
  })

  it('fails when it exceeds its time limit, which no test of it can notice', async () => {
    const report = await run(`it('spins', () => { for (;;); })`, { limitMs: 2_000 })

    expect(report).to.include({ passed: 0, failed: 1 })
    expect(report.output).to.include('the file itself failed: it exceeded its limit of 2 s')
  })

  it('ends with the run', async () => {
    const hanging = `it('hangs', () => new Promise(() => setInterval(() => {}, 1000)))`
    const report = await run(hanging, { signal: AbortSignal.timeout(500) })

    expect(report.failed).to.equal(1)
    expect(report.output).to.include('SIGKILL')
  })
})
