import { once } from 'node:events'
import { Agent, get, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect } from 'chai'
import { eventually } from '@gatehouse/test-kit'
import { drainingHeader, listen } from '../src/index.ts'
import { exchange } from './harness.ts'

const here = { host: '127.0.0.1', port: 0 }

describe('A listener', () => {
  it('answers the requests under way when it closes, and accepts none', async () => {
    const responses: ServerResponse[] = []
    const lifecycle = { draining: false }
    const listening = await listen((_request, response) => void responses.push(response), { ...here, lifecycle })
    const underWay = exchange(listening.url)
    await eventually('the request is there', () => responses.length === 1)
    expect(lifecycle.draining).to.equal(false)
    const closed = listening[Symbol.asyncDispose]()
    await eventually('new connections are refused', () => refused(listening.port))

    expect(lifecycle.draining).to.equal(true)
    responses[0]!.end('answered')
    expect((await underWay).text).to.equal('answered')
    await closed
  })

  it('waits for connections from within the process too, and accepts no new one', async () => {
    const responses: ServerResponse[] = []
    const listening = await listen((_request, response) => void responses.push(response), here)
    const client = listening.connect().setEncoding('utf8')
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await eventually('the request is there', () => responses.length === 1)
    let isClosed = false
    const closed = listening[Symbol.asyncDispose]().then(() => (isClosed = true))
    await eventually('it listens no more', () => !listening.server.listening)

    expect(() => listening.connect())
      .to.throw()
      .with.property('code', 'ECONNREFUSED')
    expect(isClosed).to.equal(false)
    responses[0]!.end('answered')
    const [answer] = await once(client, 'data')
    expect(answer).to.match(/answered$/)
    await closed
  })

  it('takes all headers of a request that the gateway has taken, with those that it adds', async () => {
    await using listening = await listen((_request, response) => void response.end('ok'), here)
    const statusOf = async (length: number): Promise<number | undefined> => {
      const [response] = await once(get(listening.url, { headers: { 'x-long': 'x'.repeat(length) } }), 'response')
      response.resume()
      return response.statusCode
    }

    expect(await statusOf(40 * 1024)).to.equal(200)
    expect(await statusOf(72 * 1024)).to.equal(431)
  })

  it('closes connections that stay idle, long before its limit', async () => {
    const listening = await listen((_request, response) => void response.end('ok'), { ...here, drainMs: 3_000 })
    const agent = new Agent({ keepAlive: true })
    const outgoing = get(listening.url, { agent })
    const [response] = await once(outgoing, 'response')
    response.resume()
    await once(response, 'end')
    const ended = once(outgoing.socket!, 'close')
    await listening[Symbol.asyncDispose]()

    await ended
    agent.destroy()
  })

  it('sends Connection: close to a client that reuses its connection while it drains', async () => {
    const responses: ServerResponse[] = []
    const listening = await listen((_request, response) => void responses.push(response), here)
    const socket = connect(listening.port, '127.0.0.1').setEncoding('utf8')
    let received = ''
    socket.on('data', (text: string) => (received += text))
    socket.write('GET /one HTTP/1.1\r\nHost: x\r\n\r\n')
    await eventually('the first request is there', () => responses.length === 1)
    const closed = listening[Symbol.asyncDispose]()
    socket.write('GET /two HTTP/1.1\r\nHost: x\r\n\r\n')
    responses[0]!.end('one')
    await eventually('the second request is there', () => responses.length === 2)
    responses[1]!.end('two')
    await once(socket, 'close')
    await closed

    expect(received).to.match(/one[\s\S]*Connection: close[\s\S]*two$/)
  })

  it('answers requests that reach it while it stops, on idle connections and, as a service, on new ones', async () => {
    const answer = (_request: unknown, response: ServerResponse) => void response.end('ok')
    const listening = await listen(answer, { ...here, announceDrain: true })
    const agent = new Agent({ keepAlive: true })
    const ask = (path: string) => exchange(`${listening.url}${path}`, { agent })
    await ask('/before')
    const closed = listening[Symbol.asyncDispose]()
    const [reused, connected] = await Promise.all([ask('/on-the-wire'), ask('/connecting')])
    await closed
    agent.destroy()

    for (const reply of [reused, connected]) {
      expect(reply.text).to.equal('ok')
      expect(reply.headers).to.include({ connection: 'keep-alive', [drainingHeader]: '1' })
    }
  })

  it('answers, as a service, on connections that wait to be accepted when it stops', async () => {
    const answer = (_request: unknown, response: ServerResponse) => void response.end('ok')
    const listening = await listen(answer, { ...here, announceDrain: true })
    const replies = Array.from({ length: 8 }, () => exchange(listening.url, { method: 'POST', agent: new Agent() }))
    // The kernel completes them, while this turn of the event loop accepts none.
    await new Promise<void>((resolve) => void process.nextTick(resolve))
    await listening[Symbol.asyncDispose]()

    const texts = (await Promise.all(replies)).map(({ text }) => text)
    expect(texts).to.deep.equal(Array(8).fill('ok'))
  })

  /** Each of them asks again and again on a connection of its own. */
  function startClients(url: string, count: number) {
    const outcomes = { answered: 0, refused: 0, late: 0, lost: 0 }
    async function askUntilRefused(): Promise<void> {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      for (;;) {
        const outcome = await exchange(url, { agent, method: 'POST' }).then(
          ({ status }) => (status === 200 ? ('answered' as const) : ('late' as const)),
          ({ code }: NodeJS.ErrnoException) => (code === 'ECONNREFUSED' ? ('refused' as const) : ('lost' as const)),
        )
        outcomes[outcome] += 1
        if (outcome !== 'answered') return agent.destroy()
      }
    }
    return { outcomes, ended: Promise.all(Array.from({ length: count }, askUntilRefused)) }
  }

  it('loses none of thousands of requests under load: each is answered, or its connection was refused', async () => {
    const answer = (_request: unknown, response: ServerResponse) => void setTimeout(() => response.end('ok'), 2)
    const listening = await listen(answer, { ...here, announceDrain: true })
    const { outcomes, ended } = startClients(listening.url, 64)
    await eventually('there is load', () => outcomes.answered > 1_000)
    await listening[Symbol.asyncDispose]()
    await ended

    expect(outcomes).to.include({ refused: 64, late: 0, lost: 0 })
  })

  it('closes in time although no turn of its event loop is short', async () => {
    const answer = (_request: unknown, response: ServerResponse) => void response.end('ok')
    let [isBusy, turns] = [true, 0]
    const work = () => {
      for (const startedAt = performance.now(); performance.now() - startedAt < 5;);
      turns += 1
      if (isBusy) setImmediate(work)
    }
    work()
    // Beside other programs a turn takes longer.
    const begunAt = performance.now()
    await eventually('turns are measured', () => turns > 20)
    const turnMs = (performance.now() - begunAt) / turns
    const listening = await listen(answer, { ...here, announceDrain: true, drainMs: 600 * turnMs })
    const { outcomes, ended } = startClients(listening.url, 8)
    await listening[Symbol.asyncDispose]()
    await ended
    isBusy = false

    expect(outcomes).to.include({ refused: 8, late: 0, lost: 0 })
  })

  it('answers what is not done at the limit of its drain with 504, and closes', async () => {
    const listening = await listen(() => undefined, { ...here, drainMs: 50 })
    const unanswered = exchange(listening.url)
    await eventually('the request is there', async () => {
      return (
        (await new Promise<number>((resolve) => listening.server.getConnections((_, count) => resolve(count)))) === 1
      )
    })
    await listening[Symbol.asyncDispose]()

    const { status, text } = await unanswered
    expect(status).to.equal(504)
    expect(JSON.parse(text)).to.include({ statusCode: 504, code: 'gateway_timeout' })
  })

  it('destroys what is open at the limit of its drain, upgraded connections too', async () => {
    const listening = await listen((_request, response) => void response.write('begun'), {
      ...here,
      drainMs: 50,
      upgrades: true,
    })
    const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: test\r\n\r\n'
    listening.server.on('upgrade', (_request, socket) => socket.write(switching))
    const unanswered = exchange(listening.url).catch((error: NodeJS.ErrnoException) => error.code)
    const upgrading = request(listening.url, { headers: { connection: 'upgrade', upgrade: 'test' } })
    const upgraded = once(upgrading, 'upgrade')
    upgrading.end()
    const [, socket] = await upgraded
    const cut = once(socket.resume(), 'close')
    await listening[Symbol.asyncDispose]()

    expect(await unanswered).to.equal('ECONNRESET')
    await cut
  })

  it('names the variable and the remedy when its port is taken', async () => {
    await using first = await listen((_request, response) => void response.end(), here)
    const second = listen(() => undefined, { ...here, port: first.port, portVariable: 'INVITE_PORT' })
    const error = await second.catch((reason: Error) => reason)

    expect(error).to.include({ name: 'ConfigurationError' })
    expect((error as Error).message).to.match(
      new RegExp(`^INVITE_PORT: port ${first.port} .* is taken; .*choose another`),
    )
  })

  it('names HOST when the address is not of this machine', async () => {
    const error = await listen(() => undefined, { host: '192.0.2.1', port: 0 }).catch((reason: Error) => reason)

    expect(error).to.include({ name: 'ConfigurationError' })
    expect((error as Error).message).to.match(/^HOST: /)
  })

  it('gives an address that other processes on this machine can use', async () => {
    await using listening = await listen((_request, response) => void response.end('ok'), { host: '0.0.0.0', port: 0 })

    expect(listening.url).to.equal(`http://127.0.0.1:${listening.port}`)
    expect((await exchange(listening.url)).text).to.equal('ok')
  })
})

async function refused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return false
  } catch {
    return true
  } finally {
    socket.destroy()
  }
}
