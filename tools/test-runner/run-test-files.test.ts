import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { runTestFiles, type FileReport } from './run-test-files.ts'

describe('a test file', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-file-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  type Run = { signal?: AbortSignal; limitMs?: number; words?: string[] }

  async function runAll(sources: readonly string[], options: Run = {}): Promise<FileReport[]> {
    const files = sources.map((_, index) => join(folder, `${index}.test.ts`))
    for (const [index, source] of sources.entries()) await writeFile(files[index]!, source)
    const reports: FileReport[] = []
    const signal = new AbortController().signal
    const onReport = (report: FileReport) => reports.push(report)
    await runTestFiles(files, { env: process.env, reporter: 'dot', signal, onReport, ...options })
    return reports
  }

  const run = async (source: string, options: Run = {}): Promise<FileReport> => (await runAll([source], options))[0]!

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

  it('fails when it has no test, also where others follow in its process', async () => {
    const reports = await runAll(['export {}', `it('holds', () => {})`])

    expect(reports.map(({ passed, failed }) => [passed, failed])).to.deep.equal([
      [0, 1],
      [1, 0],
    ])
  })

  it('leaves no listener of its run to the next one', async () => {
    const counts = `it('counts', () => console.log('listeners ' + process.listenerCount('uncaughtException')))`
    const reports = await runAll([counts, counts, counts])

    const [first, ...next] = reports.map(({ output }) => /listeners \d+/.exec(output)?.[0])
    expect(first).to.equal('listeners 1')
    expect(next).to.deep.equal([first, first])
  })

  it('runs the tests alone whose titles contain the words, and may have none', async () => {
    const suite = `describe('a login', () => { it('holds', () => {}); it('Breaks', () => { throw new Error() }) })`
    const reports = await runAll([suite, `it('holds', () => {})`], { words: ['breaks', 'login'] })

    expect(reports.map(({ passed, failed }) => [passed, failed])).to.deep.equal([
      [0, 1],
      [0, 0],
    ])
  })

  it('ends with the run', async () => {
    const hanging = `it('hangs', () => new Promise(() => setInterval(() => {}, 1000)))`
    const report = await run(hanging, { signal: AbortSignal.timeout(500) })

    expect(report.failed).to.equal(1)
    expect(report.output).to.include('SIGKILL')
  })

  it('shares a process with others, and stops none of them when it fails, does not load, or crashes', async () => {
    const holds = `it('holds', () => console.log('pid ' + process.pid))`
    const sources = [holds, `it('breaks', () => { throw new Error('the reason') })`, holds]
    const reports = await runAll([
      ...sources,
      `import './nothing.ts'`,
      holds,
      `it('exits', () => process.exit(0))`,
      holds,
    ])

    const counts = reports.map(({ passed, failed }) => [passed, failed])
    expect(counts).to.deep.equal([
      [1, 0],
      [0, 1],
      [1, 0],
      [0, 1],
      [1, 0],
      [0, 1],
      [1, 0],
    ])
    expect(reports.map(({ output }) => /the reason|nothing.ts/.exec(output)?.[0] ?? '')).to.deep.equal([
      '',
      'the reason',
      '',
      'nothing.ts',
      '',
      '',
      '',
    ])
    const processes = reports.flatMap(({ output }) => /pid \d+/.exec(output)?.[0] ?? [])
    expect(processes).to.have.length(4)
    expect(new Set(processes)).to.have.property('size', 3)
  })
})
