import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { isRunning, listTree } from '@gatehouse/local-servers'
import { eventually, answered } from '@gatehouse/test-kit'
import { WebSocket } from 'ws'
import { postJson, startInstance } from './program.ts'

const account = { username: 'alice', password: 'a long enough password' }

describe('npm start, the instance in one process', function () {
  this.timeout(200_000)
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-embedded-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))

  const start = (dataFolder = folder) => startInstance(dataFolder)

  it('prints its URLs and its data folder, and answers at the URLs', async () => {
    await using instance = await start()

    const operations = await instance.waitForOutput(/http:\S+(?=\/metrics)/)

    expect(instance.output.stdout).to.include(folder)
    expect((await fetch(`${instance.url}/api/health`)).status).to.equal(200)
    expect((await fetch(`${operations}/readyz`)).status).to.equal(200)
  })

  it('starts again after a kill -9, with all data that it had acknowledged', async () => {
    await using killed = await start()
    const registered = await postJson(`${killed.url}/api/auth/register`, account)
    expect(registered.status).to.equal(201)

    killed.signal('SIGKILL')
    await killed.exited
    await using next = await start()

    const login = await postJson(`${next.url}/api/auth/login`, account)
    expect(login.status).to.equal(200)
    const me = await fetch(`${next.url}/api/users/@me`, {
      headers: { authorization: `Bearer ${String(registered.body.token)}` },
    })
    expect(me.status, 'the old token, signed with the stored secret').to.equal(200)
  })

  it('leaves no process behind when it is killed, its database included', async () => {
    await using instance = await start()
    const members = listTree(instance.pid)
    expect(members.length).to.be.greaterThan(4)

    instance.signal('SIGKILL')

    await eventually('nothing of it runs', () => !members.some(isRunning), 60_000)
  })

  it('closes sockets with 1012 and exits with 0, even while a client stalls in the middle of a request', async () => {
    await using instance = await start()
    const { body } = await postJson(`${instance.url}/api/auth/register`, account)
    const socket = new WebSocket(`${instance.url.replace('http', 'ws')}/ws`)
    socket.on('error', () => undefined)
    await once(socket, 'open')
    socket.send(JSON.stringify({ type: 'auth', token: body.token }))
    await once(socket, 'message')
    const stalled = connect(Number(new URL(instance.url).port), '127.0.0.1')
    stalled.on('error', () => undefined)
    stalled.write(
      'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
    )
    const members = listTree(instance.pid)
    const closed = once(socket, 'close')

    instance.signal('SIGINT')

    expect((await closed)[0], 'service restart').to.equal(1012)
    expect(await instance.exited).to.include({ code: 0, stderr: '' })
    await eventually('nothing of it runs', () => !members.some(isRunning), 60_000)
  })

  it('accepts no connection while it shuts down, and still answers a request under way', async () => {
    await using instance = await start()
    const { body } = await postJson(`${instance.url}/api/auth/register`, account)
    const change = JSON.stringify({ bio: 'written during the shutdown' })
    const patch = request(`${instance.url}/api/users/@me`, {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${String(body.token)}`,
        'content-type': 'application/json',
        'content-length': change.length,
        expect: '100-continue',
      },
    })
    const answered = once(patch, 'response') as Promise<[IncomingMessage]>
    patch.flushHeaders()
    await once(patch, 'continue') // the gateway has the headers and waits for the body

    instance.signal('SIGTERM')

    await eventually('new connections are refused', () => isRefused(instance.url))
    patch.end(change)
    const [response] = await answered
    expect(response.statusCode).to.equal(200)
    expect(await json(response)).to.have.property('bio', 'written during the shutdown')
    expect(await instance.exited).to.include({ code: 0, stderr: '' })
  })

  it('runs beside another instance with its own data folder and port', async () => {
    await using one = await start(join(folder, 'one'))
    await using two = await start(join(folder, 'two'))
    await answered(postJson(`${one.url}/api/auth/register`, account))

    expect((await postJson(`${two.url}/api/auth/login`, account)).status).to.equal(401)
    expect((await postJson(`${one.url}/api/auth/login`, account)).status).to.equal(200)
  })

  it('starts its database again when that is killed', async () => {
    await using instance = await start()
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
})

async function readPostmaster(data: string): Promise<number> {
  return Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8'))
}

async function isRefused(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  try {
    await once(socket, 'connect')
    return false
  } catch {
    return true
  } finally {
    socket.destroy()
  }
}
