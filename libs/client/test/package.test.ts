import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { mkdtemp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import { buildClient } from '../build/build-client.ts'
import { buildUser } from './builders.ts'

const run = promisify(execFile)
const installed = 'node_modules/@gatehouse/client'
const signedIn = JSON.stringify({ token: 't', user: buildUser() })

/** The platform's own parts are enough. */
const plainNode = `
import { createClient } from '@gatehouse/client'
const client = createClient({ origin: 'http://127.0.0.1:9' })
const failure = await client.logIn({ username: 'alice', password: 'secret' }).catch(({ name }) => name)
client.close()
console.log(failure, client.session.getSnapshot().token)
`

/** Logs in against a fetch of its own and prints the session; ends by itself once the client is closed. */
const programForNode = `
import { createClient } from '@gatehouse/client'
const stored = new Map()
const client = createClient({
  origin: 'https://home.example',
  storage: {
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => stored.set(key, value),
    removeItem: (key) => stored.delete(key),
  },
  fetch: async (url, { method, body }) => {
    if (method + ' ' + url !== 'POST https://home.example/api/auth/login') {
      return new Response('{"error":"Not found","statusCode":404}', { status: 404 })
    }
    return new Response(JSON.parse(body).username === 'alice' ? '${signedIn}' : '{}')
  },
  openSocket: () => ({ send() {}, close() {} }),
  clock: { now: () => performance.now(), setTimeout, clearTimeout },
  jitter: () => 0,
})
await client.logIn({ username: 'alice', password: 'secret' })
const { token, user } = client.session.getSnapshot()
const peers = await client.call('listPeers').catch((refusal) => refusal.status)
const sockets = await client.call('listSockets').catch((refusal) => refusal.status)
client.close()
console.log(JSON.stringify({ token, username: user.username, stored: stored.get('service_token'), peers, sockets }))
`

const identityInNode = `
import { canonicalUserKey, normalizeOriginToHost } from '@gatehouse/client/identity'
const user = { id: '7', username: 'alice@home.example', homeInstance: 'home.example', homeUserId: '1' }
console.log(canonicalUserKey(user, 'b.example'), normalizeOriginToHost('https://Home.example:8443/'))
`

const programForBrowser = `(async () => {
  const { createBrowserClient, ApiError } = await import('/${installed}/index.js')
  const client = createBrowserClient()
  await client.logIn({ username: 'alice', password: 'secret' })
  const { token, user } = client.session.getSnapshot()
  const refusal = await client.call('instanceInfo').catch((error) => error)
  const peers = await client.call('listPeers').catch((error) => error.status)
  client.close()
  const stored = localStorage.getItem('service_token')
  return { token, username: user.username, stored, refusal: refusal instanceof ApiError && refusal.message, peers }
})()`

const typedProgram = `
import { canonicalUserKey, type KnownUser } from '@gatehouse/client/identity'
import { createBrowserClient, type Endpoints, type LogInStep, type PendingRegistration, type Registration, type SignedIn, type User } from '@gatehouse/client'
const client = createBrowserClient()
const step: LogInStep = await client.logIn({ username: 'alice', password: 'secret' })
if (step.next === 'second_factor') throw new Error(step.next)
const user: User = step.user
const registration: Registration = { username: 'alice', password: 'secret', avatarColor: 'mint' }
const signedIn: SignedIn | PendingRegistration = await client.call('register', { body: registration })
if ('pending' in signedIn) throw new Error(signedIn.receipt)
const status: 'online' | 'offline' = signedIn.user.status
// @ts-expect-error -- the types are those of the contract
void client.call('setRole', { params: { id: user.id }, body: { isAdmin: status } })
// @ts-expect-error -- there is no such endpoint
void client.call('getSelff')
const page: Endpoints['listUsers']['reply'] = await client.call('listUsers', { query: { page: 2 } })
void page
type Chat = {
  events: { 'chat.said': { text: string } }
  requests: { 'chat.say': { body: { text: string }; reply: { id: string } } }
}
const chat = createBrowserClient<Chat>()
const { id }: { id: string } = await chat.live.send('chat.say', { text: 'hello' })
chat.live.on('chat.said', ({ text }) => text.length + id.length)
chat.live.on('presence_update', ({ userId }) => userId.length)
// @ts-expect-error -- the types are those of the application
void chat.live.send('chat.say', { texts: '' })
// @ts-expect-error -- nobody sends it
chat.live.on('chat.shouted', () => undefined)
const person: KnownUser = user
const key: string = canonicalUserKey(person, 'home.example')
void key
`

describe('The packed client', () => {
  let folder: string
  let project: string
  let gzipBytes: Record<string, number>

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-client-'))
    project = join(folder, 'project')
    await mkdir(project)
    await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }')
    const built = await buildClient(join(folder, 'built'))
    gzipBytes = built.gzipBytes
    await run('npm', ['install', built.tarball, '--offline', '--no-audit', '--no-fund'], { cwd: project })
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('stays under 12 kB gzipped, and loads nothing else but the endpoints of admins, at their first call', async () => {
    expect(gzipBytes['index.js']).to.be.within(5_000, 11_999)
    expect(gzipBytes['identity.js']).to.be.within(300, 1_200)
    expect(gzipBytes['registration.js']).to.be.within(300, 1_200)
    expect(gzipBytes['routes.js']).to.be.within(300, 900)
    expect(gzipBytes['export.js']).to.be.within(300, 900)
    expect(gzipBytes['providers.js']).to.be.within(300, 1_200)
    expect(gzipBytes['proof.js']).to.be.within(300, 2_500)
    expect(gzipBytes['react.js']).to.be.within(300, 1_000)
    for (const module of Object.keys(gzipBytes).filter((name) => name !== 'react.js')) {
      const text = await readFile(join(project, installed, module), 'utf8')
      expect(text).not.to.match(/\bimport *[{*'"`]|\bimport *\((?!['"`]\.\/)|\bfrom *['"`]/)
    }
  })

  it('brings no other package along', async () => {
    const packages = await readdir(join(project, 'node_modules/@gatehouse'))
    const others = await readdir(join(project, 'node_modules'))
    const { dependencies, scripts } = JSON.parse(await readFile(join(project, installed, 'package.json'), 'utf8'))

    expect(packages).to.deep.equal(['client'])
    expect(others.filter((name) => !name.startsWith('.'))).to.deep.equal(['@gatehouse'])
    expect([dependencies, scripts]).to.deep.equal([undefined, undefined])
  })

  it('works in Node', async () => {
    await writeFile(join(project, 'use.js'), programForNode)

    const { stdout } = await run(process.execPath, ['use.js'], { cwd: project, timeout: 20_000 })

    expect(JSON.parse(stdout)).to.deep.equal({ token: 't', username: 'alice', stored: 't', peers: 404, sockets: 404 })
  })

  it('needs nothing but an origin there', async () => {
    await writeFile(join(project, 'plain.js'), plainNode)

    const { stdout } = await run(process.execPath, ['plain.js'], { cwd: project, timeout: 20_000 })

    expect(stdout.trim()).to.equal('NetworkFailure null')
  })

  it('gives the identity rules without a client', async () => {
    await writeFile(join(project, 'identity.js'), identityInNode)

    const { stdout } = await run(process.execPath, ['identity.js'], { cwd: project, timeout: 20_000 })

    expect(stdout.trim()).to.equal('1@home.example home.example:8443')
  })

  it('works in a browser', async () => {
    await using server = await serveProject(project)
    await using browser = await launchChromium()
    const page = await browser.newPage()
    await page.goto(server.origin)

    expect(await page.evaluate(programForBrowser)).to.deep.equal({
      token: 't',
      username: 'alice',
      stored: 't',
      refusal: 'Not found',
      peers: 404,
    })
  })

  it('has its types with it', async () => {
    const file = join(project, 'use.ts')
    await writeFile(file, typedProgram)

    const program = ts.createProgram([file], {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      // Those of the package are checked.
      skipDefaultLibCheck: true,
      types: [],
      target: ts.ScriptTarget.ES2024,
      module: ts.ModuleKind.NodeNext,
      lib: ['lib.es2024.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    })
    const problems = ts.getPreEmitDiagnostics(program)

    expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).to.deep.equal([])
  })
})

/** Serves the project's modules and answers the log-in, all else with 404. */
async function serveProject(project: string): Promise<{ origin: string } & AsyncDisposable> {
  const files = await readdir(join(project, installed))
  const modules = new Map<string, Buffer>()
  for (const name of files.filter((file) => file.endsWith('.js'))) {
    modules.set(`/${installed}/${name}`, await readFile(join(project, installed, name)))
  }
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string | Buffer) =>
      response.writeHead(status, { 'content-type': type }).end(body)
    if (request.url === '/') return answer(200, 'text/html', '<!doctype html><title>client</title>')
    const module = modules.get(request.url ?? '')
    if (module) return answer(200, 'text/javascript', module)
    if (request.method === 'POST' && request.url === '/api/auth/login') return answer(200, 'application/json', signedIn)
    return answer(404, 'application/json', '{"error":"Not found","statusCode":404}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
