import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { watchProcessorTime } from './processor-time.ts'

const seconds = 0.4
/** Takes them, says so, and stays. */
const burn = `while (process.cpuUsage().user < ${seconds * 1e6}); console.log('done'); setInterval(() => {}, 1000)`

if (process.platform === 'linux')
  describe('the CPU time of a run', () => {
    let watch: ReturnType<typeof watchProcessorTime>
    beforeEach(() => {
      watch = watchProcessorTime()
    })
    afterEach(() => void watch.stop())

    const start = (source: string, ...args: string[]) =>
      spawn(process.execPath, ['--eval', source, ...args], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })

    const secondsOf = (kind: string): number => watch.stop().find((time) => time.kind === kind)?.seconds ?? 0

    it('is that of each kind of process', async () => {
      const nats = start(burn, 'nats-server')
      await once(nats.stdout!, 'data')
      nats.kill()
      await once(nats, 'exit')

      expect(secondsOf('NATS') + secondsOf('not seen')).to.be.at.least(seconds)
    })

    it('has a process whose parent was killed', async () => {
      const parent = start(`const { spawn } = require('node:child_process')
        const child = spawn(process.execPath, ['--eval', ${JSON.stringify(burn)}, 'redis-server'], { stdio: 'inherit' })
        process.send(child.pid)`)
      const [orphan] = (await once(parent, 'message')) as [number]
      watch.look()
      parent.kill('SIGKILL')
      await once(parent.stdout!, 'data')
      watch.look()
      process.kill(orphan)

      expect(secondsOf('Redis')).to.be.at.least(seconds)
    })
  })
