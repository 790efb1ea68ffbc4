import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect } from 'chai'

const program = join(import.meta.dirname, '../src/run-until-stopped.ts')

describe('A program that runs until it is stopped', () => {
  it('goes on when the reader of what it prints has gone, and ends at a signal', async () => {
    const script = `import { runUntilStopped } from '${program}'
      await runUntilStopped('test', async () => {
        const print = () => process.stdout.write('x', (error) =>
          error ? setTimeout(() => process.stderr.write(error.code), 20) : setTimeout(print, 5))
        print()
        setInterval(() => undefined, 1_000)
        return { [Symbol.asyncDispose]: async () => undefined }
      })`
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const exited = once(child, 'exit')
    const message = once(child.stderr, 'data')
    await once(child.stdout, 'data')
    child.stdout.destroy()

    expect(String((await message)[0])).to.equal('EPIPE')
    child.kill('SIGTERM')
    expect((await exited)[0]).to.equal(0)
  })
})
