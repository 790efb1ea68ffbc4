import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { freePort } from '../src/index.ts'

describe('a free port', () => {
  it('is below the range of outgoing connections, and each caller gets another one', async () => {
    const ports = await Promise.all(Array.from({ length: 20 }, freePort))

    expect(new Set(ports).size).to.equal(20)
    for (const port of ports) expect(port).to.be.within(20_000, 32_000)
  })

  const isLinux = process.platform === 'linux'
  const title = isLinux ? 'is given to no other process while this one runs' : 'is given to other processes too'
  it(title, async () => {
    const port = await freePort()
    const module = JSON.stringify(import.meta.resolve('../src/index.ts'))
    const ports = [port, port + 1, port + 2, port + 3]
    const ask = `const { freePort } = await import(${module})
      console.log(JSON.stringify(await Promise.all(${JSON.stringify(ports)}.map((port) => freePort(port)))))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', ask])

    const otherPorts = JSON.parse(stdout) as number[]
    expect(otherPorts[0] === port).to.equal(!isLinux)
    // Control: the other process is given others, unless another test has them.
    expect(otherPorts.slice(1)).to.include.oneOf(ports.slice(1))
  })

  it('can be listened on', async () => {
    const server = createServer().listen(await freePort(), '127.0.0.1')
    await once(server, 'listening')
    server.close()
  })
})
