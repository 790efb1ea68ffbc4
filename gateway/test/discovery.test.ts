import { once } from 'node:events'
import { expect } from 'chai'
import { signToken } from '@gatehouse/auth'
import { buildAccountState, eventually, freePort } from '@gatehouse/test-kit'
import { WebSocket, WebSocketServer } from 'ws'
import { startHarness, tokenKey, type Harness } from './harness.ts'
import { startNameServer, type NameServer } from './name-server.ts'
import { startStub, type StubService } from './stub-service.ts'

const [first, second, third] = ['127.0.0.2', '127.0.0.3', '127.0.0.4'] as const

describe('Replicas that a name leads to', () => {
  let port: number
  let names: NameServer
  let stubs: Map<string, StubService>
  let harness: Harness
  const stub = (address: string): StubService => stubs.get(address)!
  const requestsOf = (address: string): number => stub(address).seen.length

  async function startReplica(address: string): Promise<void> {
    stubs.set(address, await startStub(port, address))
  }

  async function startWith(...addresses: string[]): Promise<void> {
    for (const address of addresses) await startReplica(address)
    names = await startNameServer(...addresses)
    const url = [`http://replicas.test:${port}`]
    harness = await startHarness({
      replicas: 0,
      timeouts: { connectMs: 1_000 },
      config: {
        dnsServers: [names.address],
        services: { identity: url, invite: url, 'session-gateway': url, 'federation-fanout': url, openid: url },
      },
    })
  }

  const ask = async (): Promise<number> => {
    const response = await fetch(`${harness.url}/api/instance/info`)
    await response.arrayBuffer()
    return response.status
  }
  const askTimes = async (times: number): Promise<number[]> =>
    await Promise.all(Array.from({ length: times }, async () => await ask()))

  beforeEach(async () => {
    port = await freePort()
    stubs = new Map()
  })
  afterEach(async () => {
    await harness[Symbol.asyncDispose]()
    await names[Symbol.asyncDispose]()
    for (const replica of stubs.values()) await replica[Symbol.asyncDispose]()
  })

  it('share requests, sockets and account-state queries', async () => {
    await startWith(first, second)
    const upgrades = { [first]: 0, [second]: 0 }
    for (const address of [first, second] as const) {
      const sockets = new WebSocketServer({ noServer: true })
      stub(address).server.on('upgrade', (request, socket, head) => {
        upgrades[address] += 1
        sockets.handleUpgrade(request, socket, head, () => undefined)
      })
    }
    await askTimes(10)
    const requests = [requestsOf(first), requestsOf(second)]
    for (let count = 0; count < 4; count += 1) {
      const client = new WebSocket(`${harness.url.replace('http', 'ws')}/ws`)
      await once(client, 'open')
      client.terminate()
    }
    for (let count = 0; count < 4; count += 1) {
      const state = buildAccountState({ userId: String(count + 1) })
      for (const replica of stubs.values()) replica.states.set(state.userId, state)
      const authorization = `Bearer ${signToken(tokenKey, state, { expiresIn: '1h', now: harness.clock.now() })}`
      await fetch(`${harness.url}/api/users/@me`, { headers: { authorization } })
      // A query and a request take turns: another request, so that queries do not always meet the same replica.
      await ask()
    }

    expect(requests).to.deep.equal([5, 5])
    expect(upgrades).to.deep.equal({ [first]: 2, [second]: 2 })
    expect(stub(first).stateQueries).to.be.above(0)
    expect(stub(second).stateQueries).to.be.above(0)
  })

  it('get work as soon as they are there, and none once they have left, while requests under way end', async () => {
    await startWith(first, second)
    let respond: (() => void) | undefined
    stub(first).behave = (_request, response) => {
      if (respond) return response.end('{}')
      respond = () => response.end('{"late":true}')
    }
    const slow = Promise.all([1, 2].map(() => fetch(`${harness.url}/api/instance/info`)))
    await eventually('one waits at the first', () => respond !== undefined)
    await startReplica(third)
    names.addresses = [second, third]
    await eventually('the new one has work', async () => {
      await ask()
      return requestsOf(third) > 0
    })
    const before = [requestsOf(second), requestsOf(third)]
    const statuses = await askTimes(20)
    respond?.()
    const answers = await slow

    expect(statuses.every((status) => status === 200)).to.equal(true)
    expect([requestsOf(second) - before[0]!, requestsOf(third) - before[1]!]).to.deep.equal([10, 10])
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
  })

  it('are resolved again when one fails, and another one is tried', async () => {
    await startWith(first, second)
    await stub(first)[Symbol.asyncDispose]()
    const statuses = await askTimes(10)
    names.addresses = [second]

    expect(statuses.every((status) => status === 200)).to.equal(true)
    await eventually('the gateway knows that it left', () =>
      harness.lines.some(({ origins }) => String(origins) === `http://${second}:${port}`),
    )
  })

  it('are asked although the name leaves them out, while none of its addresses can be reached', async () => {
    await startWith(first, second)
    const sent = await askTimes(2)
    names.addresses = [third]
    await eventually('the gateway knows the third alone, where nothing listens', () =>
      harness.lines.some(({ origins }) => String(origins) === `http://${third}:${port}`),
    )
    sent.push(...(await askTimes(10)))

    expect(sent.every((status) => status === 200)).to.equal(true)
    expect(requestsOf(first) + requestsOf(second)).to.equal(12)
  })

  it('stay while the name servers are silent, and no request waits for these', async () => {
    await startWith(first, second)
    names.silent = true
    const asked = names.questions
    await eventually('names are resolved again', () => names.questions > asked)
    const statuses = await askTimes(10)
    await eventually('the failure is told', () => harness.lines.some(({ msg }) => msg === 'service name not resolved'))
    statuses.push(...(await askTimes(10)))

    expect(statuses.every((status) => status === 200)).to.equal(true)
    expect([requestsOf(first), requestsOf(second)]).to.deep.equal([10, 10])
  })

  it('are found later when the name does not lead anywhere at the start; until then 503', async () => {
    await startWith()
    const early = await ask()
    await startReplica(first)
    names.addresses = [first]

    expect(early).to.equal(503)
    await eventually('it is found', async () => (await ask()) === 200)
  })
})
