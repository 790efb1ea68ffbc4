import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endpointTable } from '@gatehouse/contracts'
import { ConfigurationError } from '@gatehouse/service-kit'
import { expect } from 'chai'
import fc from 'fast-check'
import { areNested, findOwnPath, readUpstreams } from './watch-upstreams.ts'

describe('The file of upstreams', () => {
  let folder: string
  before(async () => void (folder = await mkdtemp(join(tmpdir(), 'gatehouse-upstreams-'))))
  after(() => rm(folder, { recursive: true }))

  async function read(text: string) {
    const path = join(folder, 'upstreams.yaml')
    await writeFile(path, text)
    return await readUpstreams(path)
  }
  async function faultsOf(text: string): Promise<string[]> {
    const error: unknown = await read(text).catch((reason: unknown) => reason)
    if (!(error instanceof ConfigurationError)) throw new Error('no ConfigurationError')
    return error.message.split('\n')
  }

  it('is read as YAML and as JSON, with what it leaves out filled in', async () => {
    const chat = { name: 'chat', origins: ['http://chat:9000'], routes: [{ prefix: '/api/spaces', access: 'user' }] }
    const limit = { requests: 300, seconds: 60 }
    const filled = { messages: [], ready: [], events: [], answers: [] }
    const routes = [{ prefix: '/api/spaces', access: 'user', bodyBytes: 65_536, limit }]
    const yaml = `upstreams:
  - name: chat
    origins: [http://chat:9000] # a name with several addresses is several replicas
    routes:
      - { prefix: /api/spaces, access: user }
`

    expect(await read(yaml)).to.deep.equal([{ ...chat, ...filled, routes }])
    expect(await read(JSON.stringify({ upstreams: [chat] }))).to.deep.equal([{ ...chat, ...filled, routes }])
  })

  it('is refused with every fault and its place', async () => {
    const faults = await faultsOf(`upstreams:
  - name: identity
    origins: [ftp://chat:9000, http://chat:9000/path]
    routes:
      - { prefix: /api/spaces, access: everybody, acess: user }
      - { prefix: /api/auth, access: user, bodyBytes: 10485761 }
    messages: [chat., ping., Chat.]
    ready: [spaces, user, __proto__]
    events: [UserCreated, PresenceRecorded]
    answers: [audience, members, everything]
  - name: voice
    origins: []
    routes:
      - { prefix: /api/Spaces/voice, access: user }
      - { prefix: /api/users/7/devices, access: user }
      - { prefix: /api/upstream-keys/x, access: user }
      - { prefix: /api/a%2Fb, access: user }
      - { prefix: /api/a/../b, access: user }
      - { prefix: /api//b, access: user }
      - { prefix: /api/b/, access: user }
      - { prefix: /api, access: user }
      - { prefix: /elsewhere, access: user }
    messages: [chat., voice.]
    ready: [spaces]
  - { name: voice, origins: ['http://voice:9000'], routes: [], asks: { key: AAAA, rights: [accounts, secrets] } }
`)

    const places = faults.map((fault) => fault.slice(0, fault.indexOf(': ')))
    const voiceRoutes = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((index) => `upstreams[1].routes[${index}].prefix`)
    expect(places).to.have.members([
      'upstreams[0].name',
      'upstreams[0].origins[0]',
      'upstreams[0].origins[1]',
      'upstreams[0].routes[0].access',
      'upstreams[0].routes[0]',
      'upstreams[0].routes[1].bodyBytes',
      'upstreams[0].routes[1].prefix',
      'upstreams[0].messages[1]',
      'upstreams[0].messages[2]',
      'upstreams[0].ready[1]',
      'upstreams[0].ready[2]',
      'upstreams[0].events[1]',
      'upstreams[0].answers[2]',
      'upstreams[1].origins',
      ...voiceRoutes,
      'upstreams[1].messages[0]',
      'upstreams[1].ready[0]',
      'upstreams[2].name',
      'upstreams[2].asks.key',
      'upstreams[2].asks.rights[1]',
    ])
    expect(faults).to.include('upstreams[0].routes[1].prefix: belongs to Gatehouse (/api/auth/register)')
    expect(faults).to.include(
      'upstreams[1].routes[0].prefix: /api/Spaces/voice overlaps with /api/spaces (upstreams[0].routes[0].prefix)',
    )
  })

  it('is refused in one line when it is missing, is no YAML, or is something else', async () => {
    const missing: unknown = await readUpstreams(join(folder, 'missing.yaml')).catch((reason: unknown) => reason)

    expect(missing).to.be.instanceOf(ConfigurationError)
    expect(await faultsOf('upstreams: [')).to.satisfy((faults: string[]) => /line 1/.test(faults[0] ?? ''))
    expect(await faultsOf('')).to.have.length(1)
    expect(await faultsOf('a: &a [*a]\nupstreams: []')).to.have.length(1)
  })

  it('lets the prefixes of one upstream be nested, but not repeated', async () => {
    const routes = (second: string) =>
      `upstreams: [{ name: chat, origins: ['http://chat:9000'], routes: [{ prefix: /api/spaces, access: user }, { prefix: ${second}, access: admin }] }]`

    expect((await read(routes('/api/spaces/admin')))[0]?.routes).to.have.length(2)
    expect(await faultsOf(routes('/api/SPACES'))).to.have.length(1)
  })

  it('gives no prefix away under which a request for Gatehouse itself could lie', () => {
    const words = Object.values(endpointTable).flatMap(({ path }) => path.split('/').slice(2))
    const segment = fc.oneof(
      fc.constantFrom(...words.filter((word) => !word.startsWith(':'))),
      fc.stringMatching(/^[a-zA-Z0-9_~@-]{1,6}$/),
    )
    const prefixes = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => `/api/${segments.join('/')}`)
    const ownRequests = fc
      .tuple(fc.constantFrom(...Object.values(endpointTable)), segment)
      .map(([{ path }, value]) => path.replace(/:\w+/g, value))

    fc.assert(
      fc.property(prefixes, ownRequests, (prefix, request) => {
        fc.pre(findOwnPath(prefix) === undefined)
        const [folded, wanted] = [request.toLowerCase(), prefix.toLowerCase()]
        return folded !== wanted && !folded.startsWith(`${wanted}/`) && !wanted.startsWith(`${folded}/`)
      }),
      { seed: 18, numRuns: 2_000 },
    )
    expect(areNested('/api/spaces', '/api/spacesuit')).to.equal(false)
    expect(findOwnPath('/api/users/@me')).to.not.equal(undefined)
  })
})
