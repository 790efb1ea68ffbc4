import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createSigningKeys, signCaller } from '@gatehouse/auth'
import { upstreamEventNames } from '@gatehouse/upstreams'
import { expect } from 'chai'
import ts from 'typescript'
import { buildUpstream } from '../build/build-upstream.ts'

const run = promisify(execFile)
const secret = 's'.repeat(32)
const origin = 'https://home.example'
const account = { userId: '7', username: 'ada', isAdmin: true, tokenIssuedAt: 0 }

/** Verifies a statement as headers of both kinds and as text; a service that it cannot connect to is not needed for that. */
const program = (keysUrl: string) => `
import { createCallerVerifier, connectUpstream, InvalidCaller } from '@gatehouse/upstream'
const verifier = createCallerVerifier({ name: 'chat', origin: '${origin}', keysUrl: '${keysUrl}' })
const [statement] = process.argv.slice(2)
const callers = []
for (const input of [statement, { 'x-gatehouse-caller': statement }, new Headers({ 'X-Gatehouse-Caller': statement })]) {
  callers.push(await verifier.verify(input))
}
const refused = await verifier.verify({}).catch((error) => error instanceof InvalidCaller)
console.log(JSON.stringify({ callers, refused, live: typeof connectUpstream }))
`

const typedProgram = `
import { createCallerVerifier, InvalidCaller, type Caller } from '@gatehouse/upstream'
const verifier = createCallerVerifier({ name: 'chat', origin: '${origin}' })
export async function nameOf(request: Request): Promise<string | undefined> {
  const caller: Caller = await verifier.verify(request.headers)
  // @ts-expect-error -- a caller may have no user
  caller.user.username
  return caller.user?.username
}
export const isRefusal = (error: unknown): boolean => error instanceof InvalidCaller
`

describe('The packed library for upstreams', () => {
  let folder: string
  let installed: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-upstream-'))
    const tarball = await buildUpstream(join(folder, 'built'))
    installed = join(folder, 'node_modules/@gatehouse/upstream')
    await mkdir(installed, { recursive: true })
    await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
    // As npm installs them; a link needs no registry.
    for (const name of ['jose', 'nats']) await symlink(packageFolder(name), join(folder, 'node_modules', name))
    await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('depends on jose and nats only', async () => {
    const text = await readFile(join(installed, 'package.json'), 'utf8')
    const { dependencies, scripts } = JSON.parse(text) as Record<string, object | undefined>

    expect([Object.keys(dependencies!), scripts]).to.deep.equal([['jose', 'nats'], undefined])
  })

  it('verifies a caller in Node, and fetches the keys once', async () => {
    const keys = createSigningKeys('gateway', secret)
    let fetched = 0
    const server = createServer((_request, response) => {
      fetched += 1
      response.end(JSON.stringify({ keys: keys.published }))
    })
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const keysUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await writeFile(join(folder, 'use.js'), program(keysUrl))
    const caller = { address: '127.0.0.1', account }
    const statement = signCaller(keys, caller, { issuer: origin, audience: 'chat', now: Date.now() })

    const { stdout } = await run(process.execPath, ['use.js', statement], { cwd: folder, timeout: 20_000 })
    server.close()

    const verified = { address: '127.0.0.1', user: { userId: '7', username: 'ada', isAdmin: true } }
    const expected = { callers: [verified, verified, verified], refused: true, live: 'function' }
    expect(JSON.parse(stdout)).to.deep.equal(expected)
    expect(fetched).to.equal(1)
  })

  it('has its types with it', async () => {
    const file = join(folder, 'use.ts')
    await writeFile(file, typedProgram)

    const checked = ts.createProgram([file], {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: true,
      types: [],
      target: ts.ScriptTarget.ES2024,
      lib: ['lib.es2024.d.ts', 'lib.dom.d.ts'],
      module: ts.ModuleKind.NodeNext,
    })
    const problems = ts.getPreEmitDiagnostics(checked)

    expect(problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).to.deep.equal([])
  })

  it('knows every event that is kept, and make-secrets.sh has permissions for each', async () => {
    const script = await readFile(resolve(import.meta.dirname, '../../../deploy/make-secrets.sh'), 'utf8')
    const [, listed = ''] = /^events='([^']*)'/m.exec(script) ?? []
    const { eventNames } = await import('../src/live/event-names.ts')

    expect(listed.split(/\s+/)).to.have.members(upstreamEventNames)
    expect(eventNames).to.have.members(upstreamEventNames)
  })
})

/** The folder of an installed package. */
function packageFolder(name: string): string {
  const file = fileURLToPath(import.meta.resolve(name))
  const marker = join('node_modules', name)
  return file.slice(0, file.lastIndexOf(marker) + marker.length) || dirname(file)
}
