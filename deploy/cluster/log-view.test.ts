import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import { eventually } from '@gatehouse/test-kit'
import { openLogView } from './cluster-process.ts'

describe('the log view of a cluster', () => {
  let folder: string
  before(async () => void (folder = await mkdtemp(join(tmpdir(), 'gatehouse-log-view-'))))
  after(() => rm(folder, { recursive: true }))

  it('shows each line of an error behind the name of its process, and keeps the JSON in the file', async () => {
    const file = join(folder, 'identity-0.log')
    const shown: string[] = []
    const terminal = { isTTY: true, write: (text: string) => shown.push(text) > 0 }
    const view = openLogView({ name: 'identity-0', mode: 'pretty', file, colorIndex: 0 }, terminal)
    const output = new PassThrough()
    view.follow(output)
    const err = { type: 'Error', message: 'the reason', stack: 'Error: the reason\n    at one\n    at two' }
    const line = JSON.stringify({ level: 'error', time: '2025-11-21T12:00:01Z', err, msg: 'request failed' })
    output.end(`${line}\n`)

    await eventually('the line is shown', () => shown.length > 0)
    const rows = shown.join('').trimEnd().split('\n')
    expect(rows.length).to.be.greaterThan(4)
    for (const row of rows) expect(row).to.match(/^identity-0 {10,}\S* *\S/)
    expect(rows.map((row) => row.slice(20).trim())).to.include.members(['Error: the reason', 'at one', 'at two'])
    await eventually('the line is kept', async () => (await readFile(file, 'utf8')) === `${line}\n`)
    expect(view.lastLines()).to.equal(line)
  })

  it('writes JSON that names the process where no terminal reads, of a process that ended too', () => {
    const shown: string[] = []
    const terminal = { write: (text: string) => shown.push(text) > 0 }
    const view = openLogView(
      { name: 'identity-0', mode: 'pretty', file: join(folder, 'b.log'), colorIndex: 0 },
      terminal,
    )

    view.tell('ended with SIGKILL')

    const [line] = shown.map((text) => JSON.parse(text) as Record<string, unknown>)
    expect(line).to.include({ process: 'identity-0', level: 'warn', msg: 'identity-0 ended with SIGKILL' })
  })
})
