import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect } from 'chai'
import { DatabaseSocket, rememberAddresses } from './remembered-addresses.ts'

type Answer = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void

describe('The addresses of PostgreSQL', () => {
  const first = [{ address: '10.0.0.1', family: 4 }]
  const second = [{ address: '10.0.0.2', family: 4 }]
  const failure = Object.assign(new Error('no answer'), { code: 'EAI_AGAIN' })

  function openLookup(slowMs: number) {
    const questions: Answer[] = []
    const lookup = rememberAddresses((_host, answer) => void questions.push(answer), slowMs)
    const ask = (): Promise<unknown> =>
      new Promise((resolve, reject) => {
        lookup('postgres', { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)))
      })
    return { ask, answer: (...args: Parameters<Answer>) => questions.shift()!(...args) }
  }

  it('are asked for each time, and those of before are used when name servers are slow or fail', async () => {
    const { ask, answer } = openLookup(5)
    const initial = ask()
    answer(null, first)
    expect(await initial).to.equal(first)

    expect(await ask(), 'no answer in time').to.equal(first)
    answer(null, second)
    const failed = ask()
    answer(failure, [])
    expect(await failed, 'the late answer is remembered').to.equal(second)
  })

  it('are those of the answer while it comes in time, and there are none before the first', async () => {
    const { ask, answer } = openLookup(60_000)
    const refused = ask()
    answer(failure, [])
    expect(await refused.catch((error: unknown) => error)).to.equal(failure)

    for (const addresses of [first, second]) {
      const reply = ask()
      answer(null, addresses)
      expect(await reply).to.equal(addresses)
    }
  })

  it('lead a connection to the server, as does the path of a socket file', async () => {
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const socket = new DatabaseSocket().connect((server.address() as AddressInfo).port, 'localhost')
    await once(socket, 'connect')
    socket.destroy()
    server.close()

    const [error] = (await once(new DatabaseSocket().connect('/nonexistent/.s.PGSQL.5432'), 'error')) as [Error]
    expect(error).to.have.property('code', 'ENOENT')
  })
})
