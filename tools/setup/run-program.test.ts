import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import type { Readable } from 'node:stream'
import { expect } from 'chai'

const scriptSource = `
  import { runProgram } from '${import.meta.dirname}/run-program.js'
  process.exitCode = await runProgram(process.argv.at(-1))`

const stopsOnSignal = `
  let signals = 0
  const count = (signal) => {
    signals += 1
    setTimeout(() => { console.log(signal, signals); process.exit(7) }, 100)
  }
  process.on('SIGINT', count)
  process.on('SIGTERM', count)
  setInterval(() => undefined, 1000)
  console.log('ready')`

describe('a program that a script runs', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-run-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function start(
    source: string,
  ): Promise<{ script: ChildProcessByStdio<null, Readable, null>; lines: Interface }> {
    const program = join(folder, 'program.ts')
    await writeFile(program, source)
    const flags = ['--input-type=module', '--eval', scriptSource, program]
    const script = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit'] })
    return { script, lines: createInterface({ input: script.stdout }) }
  }

  it('gives the script its exit code', async () => {
    const { script } = await start('process.exit(3)')

    expect(await once(script, 'exit')).to.deep.equal([3, null])
  })

  it('gets a repeated signal once, and has time to shut down', async () => {
    const { script, lines } = await start(stopsOnSignal)
    await once(lines, 'line')

    const line = once(lines, 'line')
    script.kill('SIGINT')
    script.kill('SIGINT')

    expect(await once(script, 'exit')).to.deep.equal([7, null])
    expect(await line).to.deep.equal(['SIGINT 1'])
  })

  it('ends in an orderly way after a SIGTERM to npm alone', async () => {
    await writeFile(join(folder, 'program.ts'), stopsOnSignal)
    await writeFile(join(folder, 'script.js'), scriptSource)
    // A shell that waits, as some do: npm ends it, and the script gets no signal.
    const scripts = { start: `node script.js ${join(folder, 'program.ts')}; exit $?` }
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', scripts }))
    const npm = spawn('npm', ['start', '--silent'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    const lines = createInterface({ input: npm.stdout })
    await once(lines, 'line')

    const line = once(lines, 'line')
    npm.kill('SIGTERM')

    expect(await line).to.deep.equal(['SIGTERM 1'])
  })

  it('gets SIGTERM when the script was killed', async () => {
    const { script, lines } = await start(stopsOnSignal)
    await once(lines, 'line')

    const line = once(lines, 'line')
    script.kill('SIGKILL')

    expect(await line).to.deep.equal(['SIGTERM 1'])
  })
})
