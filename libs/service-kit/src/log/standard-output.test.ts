import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { eventually } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { logWaitingBytes } from '../policy.ts'
import { createOutput } from './log.ts'

describe('createOutput', () => {
  it('keeps what a full disk does not take, and drops what comes after its reader has gone', () => {
    // Both stay open: an output tries again by its timer, and a closed number soon belongs to a socket of another test.
    const full = openSync('/dev/full', 'w')
    const ended = openSync('/dev/null', 'r')
    const [fullDiskOutput, brokenOutput] = [full, ended].map((fd) => createOutput(fd, () => undefined))
    for (const output of [fullDiskOutput!, brokenOutput!])
      for (const line of ['one\n', 'two\n']) output.write(line, true)

    expect([fullDiskOutput!.dropped(), brokenOutput!.dropped()]).to.deep.equal([0, 1])
  })

  it('writes all that it kept, in order, once the disk has room, and says how many lines it dropped', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'log-'))
    const file = join(folder, 'log')
    const full = openSync('/dev/full', 'w')
    const caughtUp: number[] = []
    const output = createOutput(full, (dropped) => caughtUp.push(dropped))
    const texts = ['one\n', 'two\n', `${'x'.repeat(logWaitingBytes - 100)}\n`]
    for (const line of texts) output.write(line, true)
    output.write(`${'y'.repeat(100)}\n`, true)
    const before = output.dropped()

    reopen(full, file)
    await eventually('it has caught up', () => caughtUp.length > 0)
    output.write('three\n', true)

    expect([before, caughtUp]).to.deep.equal([1, [1]])
    expect(readFileSync(file, 'utf8')).to.equal(`${texts.join('')}three\n`)
    await rm(folder, { recursive: true })
  })
})

/** The number of a file that is open then leads to another one. Both stay open, as that of the test above. */
function reopen(fd: number, file: string): void {
  closeSync(fd)
  // The system gives the lowest one that is free.
  while (openSync(file, 'w') !== fd);
}

describe('A process whose standard output is a full disk', () => {
  it('goes on, keeps its memory within a bound, and exits as it would otherwise', async () => {
    const lines = 200_000
    const script = `import { createLog, droppedLogLines } from '${join(import.meta.dirname, 'log.ts')}'
      const log = createLog({ level: 'info', service: 'test' })
      const line = 'x'.repeat(1_000)
      const write = (count) => { for (let n = 0; n < count; n += 1) log.info(line) }
      write(${lines / 10})
      gc()
      const before = process.memoryUsage().rss
      process.stdout.write('a line beside the log')
      setTimeout(() => {
        write(${lines})
        gc()
        console.error(JSON.stringify({ grown: process.memoryUsage().rss - before, dropped: droppedLogLines() }))
        process.exit(7)
      }, 0)`
    const flags = ['--expose-gc', '--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script]
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, flags, { stdio: ['ignore', full, 'pipe'] })
    closeSync(full)

    const [errors, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')])

    const { grown, dropped } = JSON.parse(errors) as { grown: number; dropped: number }
    expect(code).to.equal(7)
    expect(dropped).to.be.greaterThan(lines / 2)
    // What was written is 200 MB.
    expect(grown).to.be.lessThan(100_000_000)
  })
})
