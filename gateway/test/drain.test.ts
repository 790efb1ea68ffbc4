import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { listen } from '@gatehouse/service-kit'
import { eventually } from '@gatehouse/test-kit'
import { startHarness, type Harness } from './harness.ts'
import { openRaw } from './raw-client.ts'

/** A request that has reached a service; `respond` ends it. */
async function startSlowRequest(harness: Harness) {
  const authorization = `Bearer ${harness.member()}`
  let respond = (): void => undefined
  let requestId: unknown
  const reached = new Promise<void>((resolve) => {
    harness.stub.behave = ({ headers }, response) => {
      requestId = headers['x-request-id']
      respond = () => response.end('{"late":true}')
      resolve()
    }
  })
  const asked = fetch(`${harness.url}/api/users/@me`, { headers: { authorization } })
  await reached
  return { asked, respond: () => respond(), requestId }
}

const refusesConnections = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', () => resolve(true))
  })

const countConnections = async ({ gateway: { server } }: Harness): Promise<number> =>
  await promisify(server.getConnections.bind(server))()

describe('A stopping gateway', () => {
  it('answers what it has accepted, for longer than a moment, and accepts nothing new', async () => {
    await using harness = await startHarness({ config: { drainMs: 60_000 } })
    const { asked, respond } = await startSlowRequest(harness)
    const idle = await openRaw(harness.port)
    await eventually('both connections are accepted', async () => (await countConnections(harness)) === 2)
    let hasStopped = false
    const stopped = harness.gateway[Symbol.asyncDispose]().then(() => (hasStopped = true))
    const ready = await fetch(`${harness.opsUrl}/readyz`)
    await eventually('connections are refused', () => refusesConnections(harness.port))
    // The last of a drain's limits before that of all requests.
    await once(idle, 'close')
    const stoppedBefore = hasStopped
    respond()
    const answer = await asked

    expect(ready.status).to.equal(503)
    expect(stoppedBefore).to.equal(false)
    expect(await answer.json()).to.deep.equal({ late: true })
    await stopped
    expect(await fetch(harness.url).catch(() => 'refused')).to.equal('refused')
  })

  it('tells a client whose request is not complete to repeat it, before the drain ends', async () => {
    await using harness = await startHarness({ config: { drainMs: 600_000 } })
    const client = await openRaw(harness.port)
    let received = ''
    client.on('data', (bytes: Buffer) => (received += bytes.toString()))
    client.write(
      'POST /api/auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    )
    await eventually('the connection is accepted', async () => (await countConnections(harness)) === 1)
    await harness.gateway[Symbol.asyncDispose]()

    expect(received)
      .to.match(/^HTTP\/1.1 503 /)
      .and.match(/\r\nRetry-After: 1\r\n/)
    expect(harness.stub.seen).to.deep.equal([])
  })

  it('answers what is not done within the drain time with 504', async () => {
    await using harness = await startHarness({ config: { drainMs: 200 } })
    const { asked, requestId } = await startSlowRequest(harness)
    const started = performance.now()
    await harness.gateway[Symbol.asyncDispose]()

    const answer = await asked
    expect(answer.status).to.equal(504)
    expect(answer.headers.get('x-request-id')).to.equal(requestId).and.be.a('string')
    expect(Object.fromEntries(answer.headers)).to.include({ 'access-control-allow-origin': '*', 'retry-after': '5' })
    expect(await answer.json()).to.include({ code: 'gateway_timeout' })
    expect(performance.now() - started).to.be.at.least(190)
  })

  /** Contract: 8, Drain. */
  it('loses none of thousands of requests under way: each is answered, or its connection was refused', async () => {
    await using harness = await startHarness({ config: { trustProxy: 'loopback' } })
    harness.stub.behave = respondSoon
    const load = startWrites(harness, 64)
    await eventually('there is load', () => load.answered() > 1_000, 30_000)
    await harness.gateway[Symbol.asyncDispose]()
    await load.ended

    expect(load.outcomes).to.have.all.keys('200', 'ECONNREFUSED')
    expect(load.outcomes['ECONNREFUSED']).to.equal(64)
  })
})

describe('A stopping service behind the gateway', () => {
  it('costs none of thousands of writes under way while another replica runs', async () => {
    const services = await Promise.all(
      [1, 2].map(() => listen(respondSoon, { host: '127.0.0.1', port: 0, announceDrain: true })),
    )
    const replicas = services.map(({ url }) => url)
    await using harness = await startHarness()
    const { services: others } = harness.config
    await using loaded = await startHarness({
      config: { services: { ...others, identity: replicas }, trustProxy: 'loopback' },
    })
    const load = startWrites(loaded, 64)
    await eventually('there is load', () => load.answered() > 1_000, 30_000)
    await services[0]![Symbol.asyncDispose]()
    const afterwards = load.answered()
    await eventually('the load goes on', () => load.answered() > afterwards + 500, 30_000)
    load.stop()
    await load.ended
    await services[1]![Symbol.asyncDispose]()

    expect(load.outcomes).to.have.all.keys('200')
  })
})

const respondSoon: Harness['stub']['behave'] = (_request, response) => void setTimeout(() => response.end('{}'), 5)

/** Clients that log in without a pause, each on a kept-alive connection, until one attempt fails or they are stopped. */
function startWrites(harness: Harness, clients: number) {
  const outcomes: Record<string, number> = {}
  let stopped = false
  async function writeUntilFailed(index: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    // Another address for each request, because of the limits of each.
    for (let turn = 0; !stopped; turn += 1) {
      const outcome = await write(harness.port, agent, `203.0.${index}.${turn % 256}`)
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
      if (outcome !== '200') break
    }
    agent.destroy()
  }
  const ended = Promise.all(Array.from({ length: clients }, (_, index) => writeUntilFailed(index)))
  return { outcomes, ended, answered: () => outcomes['200'] ?? 0, stop: () => void (stopped = true) }
}

async function write(port: number, agent: Agent, address: string): Promise<string> {
  const headers = { 'content-type': 'application/json', 'content-length': '2', 'x-forwarded-for': address }
  return await new Promise((resolve) => {
    const outgoing = request({ host: '127.0.0.1', port, agent, method: 'POST', path: '/api/auth/login', headers })
    outgoing.once('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)))
    outgoing.once('response', (response) => {
      text(response).then(
        () => resolve(String(response.statusCode)),
        () => resolve('broken'),
      )
    })
    outgoing.end('{}')
  })
}
