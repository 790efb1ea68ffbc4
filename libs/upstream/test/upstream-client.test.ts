import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { AskRefused, createUpstreamClient } from '@gatehouse/upstream'
import { createStatementVerifier } from '@gatehouse/upstreams'
import { expect } from 'chai'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const origin = 'https://chat.example'
const asks = { key: publicKey.export({ format: 'jwk' }).x!, rights: ['accounts' as const] }
const upstream = {
  name: 'chat',
  origins: ['http://chat:1'],
  routes: [],
  messages: [],
  ready: [],
  events: [],
  answers: [],
  asks,
}
const verify = createStatementVerifier([upstream], origin)

describe('The client of upstreams', () => {
  const server = createServer()
  const requests: { url: string; ids: number; isGenuine: boolean }[] = []
  let answers: { status?: number; body: object; headers?: Record<string, string> }[] = []
  let client: ReturnType<typeof createUpstreamClient>

  before(async () => {
    server.on('request', (request, response) => {
      void (async () => {
        const { url = '', headers, method } = request
        const { ids } = method === 'POST' ? ((await json(request)) as { ids: string[] }) : { ids: [] }
        const [scheme, statement = ''] = headers.authorization!.split(' ')
        const isGenuine = scheme === 'Upstream' && typeof verify(statement, Date.now()) === 'object'
        requests.push({ url, ids: ids.length, isGenuine })
        const presences = Object.fromEntries(ids.filter((id) => Number(id) % 500 === 0).map((id) => [id, 'online']))
        const ofIds = { accounts: ids.map((id) => ({ id })), presences }
        const { status = 200, body, headers: own } = answers.shift() ?? { body: ofIds }
        response.writeHead(status, own).end(JSON.stringify(body))
      })()
    })
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const gatewayUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const key = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    client = createUpstreamClient({ origin, name: 'chat', key, gatewayUrl })
  })
  beforeEach(() => void ([requests.length, answers] = [0, []]))
  after(() => void server.close())

  it('asks in groups that the gateway takes, each signed', async () => {
    const ids = Array.from({ length: 1_001 }, (_, index) => String(index + 1))

    const accounts = await client.accounts(ids)
    const online = await client.online(ids)

    expect(accounts.map(({ id }) => id)).to.deep.equal(ids)
    expect([...online]).to.deep.equal(['500', '1000'])
    expect(requests.map(({ ids: count }) => count).toSorted((a, b) => a - b)).to.deep.equal([
      1,
      1,
      ...Array(10).fill(100),
      1_000,
    ])
    expect(requests.every(({ isGenuine }) => isGenuine)).to.equal(true)
    expect([await client.accounts([]), requests.length]).to.deep.equal([[], 13])
  })

  it('goes through the changes to their end, and begins anew where its version is unknown', async () => {
    answers = [
      { status: 409, body: { code: 'version_unknown' } },
      { body: { accounts: [{ id: '1' }], next: 5, more: true } },
      { body: { accounts: [{ id: '2' }], next: 6, more: false } },
    ]
    const pages = await collect(client.changes(9))
    answers = [{ body: { accounts: [], next: 6, more: false } }]
    const fromNow = await collect(client.changes())

    expect(pages).to.deep.equal([
      { accounts: [{ id: '1' }], next: 5 },
      { accounts: [{ id: '2' }], next: 6 },
    ])
    expect(fromNow).to.deep.equal([{ accounts: [], next: 6 }])
    expect(requests.map(({ url }) => url.slice('/api/upstream/accounts/changes'.length))).to.deep.equal([
      '?after=9',
      '?after=0',
      '?after=5',
      '',
    ])
  })

  it('throws what is refused, with the code and the time to wait', async () => {
    answers = [{ status: 429, body: { error: 'Too Many Requests' }, headers: { 'retry-after': '7' } }]
    const limited: unknown = await client.online(['1']).catch((error: unknown) => error)
    answers = [{ status: 401, body: { code: 'statement_stale' } }]
    const stale: unknown = await client.accounts(['1']).catch((error: unknown) => error)
    const faulty = createUpstreamClient({ origin, name: 'chat', key: 'no key' })

    expect(limited).to.be.instanceOf(AskRefused).and.include({ status: 429, code: undefined, retryAfterSeconds: 7 })
    expect(stale).to.include({ status: 401, code: 'statement_stale' })
    expect(await faulty.accounts(['1']).catch(({ message }: Error) => message)).to.match(/PKCS8|PKCS#8/)
  })
})

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const item of items) collected.push(item)
  return collected
}
