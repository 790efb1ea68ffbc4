import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { freePort, isRunning, listTree } from '@gatehouse/local-servers'
import { eventually } from '@gatehouse/test-kit'
import { WebSocket } from 'ws'
import { postJson, startProgram } from './program.ts'

const main = 'deploy/embedded/main.ts'
const account = { username: 'keeper', password: 'a lantern by the gate' }

describe('npm start, the instance in one process', function () {
  this.timeout(200_000)
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-embedded-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))

  async function startInstance(data = folder, port?: number) {
    const environment = { GATEHOUSE_DATA: data, PORT: String(port ?? (await freePort())) }
    const program = startProgram(main, environment)
    await program.says(/Ctrl-C stops it/)
    return { ...program, url: `http://127.0.0.1:${environment.PORT}` }
  }

  it('says where everything is, and answers there', async () => {
    await using instance = await startInstance()

    const operations = await instance.says(/http:\S+(?=\/metrics)/)

    expect(instance.output.stdout).to.include(folder)
    expect((await fetch(`${instance.url}/api/health`)).status).to.equal(200)
    expect((await fetch(`${operations}/readyz`)).status).to.equal(200)
  })

  it('comes back by itself after a kill -9 with everything that was acknowledged', async () => {
    await using killed = await startInstance()
    const registered = await postJson(`${killed.url}/api/auth/register`, account)
    expect(registered.status).to.equal(201)

    killed.signal('SIGKILL')
    await killed.ended
    await using next = await startInstance()

    const login = await postJson(`${next.url}/api/auth/login`, account)
    expect(login.status).to.equal(200)
    const me = await fetch(`${next.url}/api/users/@me`, {
      headers: { authorization: `Bearer ${String(registered.body.token)}` },
    })
    expect(me.status, 'the old token, signed with the kept secret').to.equal(200)
  })

  it('takes its database and everything else with it when it is killed', async () => {
    await using instance = await startInstance()
    const members = listTree(instance.pid)
    expect(members.length).to.be.greaterThan(4)

    instance.signal('SIGKILL')

    await eventually('nothing of it runs', () => !members.some(isRunning), 60_000)
  })

  it('ends in an orderly way within a moment, although sockets are open and a request is under way', async () => {
    await using instance = await startInstance()
    const { body } = await postJson(`${instance.url}/api/auth/register`, account)
    const socket = new WebSocket(`${instance.url.replace('http', 'ws')}/ws`)
    socket.on('error', () => undefined)
    await once(socket, 'open')
    socket.send(JSON.stringify({ type: 'auth', token: body.token }))
    await once(socket, 'message')
    const halfRequest = connect(Number(new URL(instance.url).port), '127.0.0.1')
    halfRequest.on('error', () => undefined)
    halfRequest.write(
      'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
    )
    const members = listTree(instance.pid)
    const closed = once(socket, 'close')

    instance.signal('SIGINT')

    expect((await closed)[0], 'clients are told that it restarts').to.equal(1012)
    expect(await instance.ended).to.include({ code: 0, stderr: '' })
    await eventually('nothing of it runs', () => !members.some(isRunning), 60_000)
  })

  it('runs beside another one with its own data folder and port', async () => {
    await using one = await startInstance(join(folder, 'one'))
    await using two = await startInstance(join(folder, 'two'))
    await postJson(`${one.url}/api/auth/register`, account)

    expect((await postJson(`${two.url}/api/auth/login`, account)).status).to.equal(401)
    expect((await postJson(`${one.url}/api/auth/login`, account)).status).to.equal(200)
  })

  it('brings its database back when that is killed under it', async () => {
    await using instance = await startInstance()
    const { body } = await postJson(`${instance.url}/api/auth/register`, account)
    const postmaster = await readPostmaster(join(folder, 'database/data'))

    process.kill(postmaster, 'SIGKILL')

    const headers = { authorization: `Bearer ${String(body.token)}` }
    await eventually(
      'another database server runs',
      async () => {
        return (await readPostmaster(join(folder, 'database/data'))) !== postmaster
      },
      60_000,
    )
    await eventually(
      'accounts are there again',
      async () => {
        return (await fetch(`${instance.url}/api/users/@me`, { headers })).status === 200
      },
      60_000,
    )
  })

  describe('refuses, in one line that names the variable,', () => {
    async function refusal(environment: Record<string, string>): Promise<string> {
      const { code, stderr } = await startProgram(main, { GATEHOUSE_DATA: folder, PORT: '0', ...environment }).ended
      expect(code).to.equal(1)
      expect(stderr.trim().split('\n'), stderr).to.have.length(1)
      return stderr
    }

    it('a port that is taken', async () => {
      await using other = await startInstance(join(folder, 'other'))
      const port = new URL(other.url).port

      expect(await refusal({ PORT: port })).to.match(new RegExp(`^PORT: port ${port} .*taken`))
    })

    it('a data folder that cannot be written', async () => {
      await writeFile(join(folder, 'file'), '')

      expect(await refusal({ GATEHOUSE_DATA: join(folder, 'file', 'below') })).to.match(/^GATEHOUSE_DATA: cannot/)
    })

    it('a data folder that a living instance uses', async () => {
      await using other = await startInstance()

      expect(await refusal({})).to.match(new RegExp(`^GATEHOUSE_DATA: .* in use by process ${other.pid}; stop it`))
      expect((await fetch(`${other.url}/api/health`)).status).to.equal(200)
    })

    it('data that were made with other secrets', async () => {
      await using first = await startInstance()
      first.signal('SIGTERM')
      await first.ended
      await rm(join(folder, 'secrets.json'))

      expect(await refusal({})).to.match(/^GATEHOUSE_DATA: .*made with other secrets; put its secrets\.json back/)
    })

    it('a malformed variable', async () => {
      expect(await refusal({ REGISTRATION_OPEN: 'perhaps' })).to.match(/^REGISTRATION_OPEN: must be true or false/)
      expect(await refusal({ PORT: 'eighty' })).to.match(/^PORT: must be a port number/)
      expect(await refusal({ JWT_SECRET: 'short' })).to.match(/^JWT_SECRET: must have at least 32 characters/)
    })
  })
})

async function readPostmaster(data: string): Promise<number> {
  return Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8'))
}
