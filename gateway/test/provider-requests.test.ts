import { expect } from 'chai'
import { startHarness, type Harness } from './harness.ts'

/** Contract: 3, Identity providers. */
describe('Requests of a sign-in with an identity provider at the gateway', () => {
  let harness: Harness
  beforeEach(async () => void (harness = await startHarness()))
  afterEach(() => harness[Symbol.asyncDispose]())

  const start = '/api/auth/providers/own/start'
  const finish = '/api/auth/providers/finish'
  const callback = '/api/auth/providers/own/callback'
  const cookie = '__Host-gatehouse-flow=abc'
  const post = (path: string, headers: Record<string, string> = {}) =>
    fetch(harness.url + path, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', ...headers },
    })

  it('bring their cookie to the two that read it, and to no other', async () => {
    await post(start, { cookie })
    await fetch(harness.url + callback, { headers: { cookie } })
    await post(finish, { cookie })
    await post('/api/auth/login', { cookie })

    expect(harness.stub.seen.map(({ headers }) => headers.cookie)).to.deep.equal([cookie, cookie, undefined, undefined])
  })

  it('take a bearer token where one comes, and none of a bad one', async () => {
    const token = harness.member({ username: 'ada' })
    for (const path of [start, finish]) {
      expect((await post(path)).status).to.equal(200)
      expect((await post(path, { authorization: `Bearer ${token}` })).status).to.equal(200)
      expect((await post(path, { authorization: `Bearer ${token}x` })).status).to.equal(401)
    }
    expect((await post('/api/auth/login', { authorization: `Bearer ${token}` })).status).to.equal(200)

    const callers = harness.stub.seen.map(({ headers }) => harness.callerIn(headers)?.account?.username)
    expect(callers).to.deep.equal([undefined, 'ada', undefined, 'ada', undefined])
  })

  it('come back with any query, once: a connection that breaks off is no reason to repeat them', async () => {
    await fetch(`${harness.url}${callback}?state=%ff&code=%`)
    expect(harness.stub.seen.map(({ url }) => url)).to.deep.equal([`${callback}?state=%ff&code=%`])
    let asked = 0
    harness.stub.behave = (request) => {
      asked += 1
      request.socket.destroy()
    }

    const { status } = await fetch(`${harness.url}${callback}?state=a`)

    expect([status, asked]).to.deep.equal([502, 1])
    asked = 0
    expect((await fetch(`${harness.url}/api/auth/providers`)).status).to.equal(502)
    expect(asked).to.equal(2)
  })

  it('keep the address and the cookie of the answer', async () => {
    harness.stub.behave = (_, response) =>
      response.writeHead(303, { location: '/sign-in#ticket=a', 'set-cookie': `${cookie}; Path=/` }).end()

    const { status, headers } = await fetch(harness.url + callback, { redirect: 'manual' })

    expect([status, headers.get('location')]).to.deep.equal([303, '/sign-in#ticket=a'])
    expect([headers.get('set-cookie'), headers.get('cache-control')]).to.deep.equal([`${cookie}; Path=/`, 'no-store'])
  })
})
