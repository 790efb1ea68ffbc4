import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect } from 'chai'
import { freePort } from '../src/index.ts'

describe('a free port', () => {
  it('is below the range of outgoing connections, and each caller gets another one', async () => {
    const ports = await Promise.all(Array.from({ length: 20 }, freePort))

    expect(new Set(ports).size).to.equal(20)
    for (const port of ports) expect(port).to.be.within(20_000, 32_000)
  })

  it('can be listened on', async () => {
    const server = createServer().listen(await freePort(), '127.0.0.1')
    await once(server, 'listening')
    server.close()
  })
})
