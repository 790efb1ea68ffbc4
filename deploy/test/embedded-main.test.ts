import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { isRunning, listTree } from '@gatehouse/local-servers'
import { createDataFolder, eventually, removeFolder } from '@gatehouse/test-kit'
import { WebSocket } from 'ws'
import { databaseUrlOf } from '../../bench/embedded-instance.ts'
import { postJson, startFromNothing, startInstance } from './program.ts'
import { query } from './query.ts'

const password = 'a long enough password'

describe('npm start, the instance in one process', () => {
  let parent: string
  const instances = new Map<string, Awaited<ReturnType<typeof startInstance>>>()
  before(async () => void (parent = await createDataFolder()))
  after(async () => {
    for (const instance of instances.values()) await instance[Symbol.asyncDispose]()
    await removeFolder(parent)
  })
  const folderOf = (name: string) => join(parent, name)

  /** The instance on a folder: the one that runs, or another one where a test has ended it. */
  async function running(name: 'first' | 'second', start = startInstance) {
    const before = instances.get(name)
    if (before?.child.exitCode === null && before.child.signalCode === null) return before
    const instance = await start(folderOf(name))
    instances.set(name, instance)
    return instance
  }

  async function register(url: string, username: string) {
    const { status, body } = await postJson(`${url}/api/auth/register`, { username, password })
    expect(status).to.equal(201)
    const headers = { authorization: `Bearer ${String(body.token)}` }
    const readSelf = async () => (await fetch(`${url}/api/users/@me`, { headers })).status
    return { token: String(body.token), headers, readSelf }
  }

  const logIn = async (url: string, username: string) =>
    (await postJson(`${url}/api/auth/login`, { username, password })).status

  it('prints its URLs and its data folder, and answers at the URLs', async () => {
    const instance = await running('first', startFromNothing)

    const operations = await instance.waitForOutput(/http:\S+(?=\/metrics)/)

    expect(instance.output.stdout).to.include(folderOf('first'))
    expect((await fetch(`${instance.url}/api/health`)).status).to.equal(200)
    expect((await fetch(`${operations}/readyz`)).status).to.equal(200)
  })

  it('hashes passwords at cost 12, which the programs of tests alone lower', async () => {
    const instances = { first: await running('first', startFromNothing), second: await running('second') }
    const costOf = async (name: keyof typeof instances) => {
      await register(instances[name].url, 'hashed')
      const database = await databaseUrlOf(folderOf(name))
      const [row] = await query(database, "select left(password_hash, 7) as cost from users where username = 'hashed'")
      return (row as { cost: string }).cost
    }

    expect([await costOf('first'), await costOf('second')]).to.deep.equal(['$2b$12$', '$2b$04$'])
  })

  it('runs beside another instance with its own data folder and port', async () => {
    const [one, two] = [await running('first'), await running('second')]
    await register(one.url, 'neighbour')

    expect(await logIn(two.url, 'neighbour')).to.equal(401)
    expect(await logIn(one.url, 'neighbour')).to.equal(200)
  })

  it('starts its database again when that is killed', async () => {
    const { url } = await running('first')
    const { readSelf } = await register(url, 'patient')
    const readPostmaster = async () =>
      Number.parseInt(await readFile(join(folderOf('first'), 'database/data/postmaster.pid'), 'utf8'))
    const postmaster = await readPostmaster()

    process.kill(postmaster, 'SIGKILL')

    await eventually('another database server runs', async () => (await readPostmaster()) !== postmaster)
    await eventually('accounts are there again', async () => (await readSelf()) === 200)
  })

  it('leaves no process behind at a kill -9, its database included, and starts again with all data that it had acknowledged', async () => {
    const { url, pid, signal } = await running('first')
    const { headers } = await register(url, 'alice')
    const members = listTree(pid)
    expect(members.length).to.be.greaterThan(4)

    signal('SIGKILL')

    await eventually('nothing of it runs', () => !members.some(isRunning))
    const next = await running('first')
    expect(await logIn(next.url, 'alice')).to.equal(200)
    const me = await fetch(`${next.url}/api/users/@me`, { headers })
    expect(me.status, 'the old token, signed with the stored secret').to.equal(200)
  })

  it('closes sockets with 1012 and exits with 0, even while a client stalls in the middle of a request', async () => {
    const { url, pid, signal, exited } = await running('first')
    const { token } = await register(url, 'listener')
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`)
    socket.on('error', () => undefined)
    await once(socket, 'open')
    socket.send(JSON.stringify({ type: 'auth', token }))
    await once(socket, 'message')
    const stalled = connect(Number(new URL(url).port), '127.0.0.1')
    stalled.on('error', () => undefined)
    stalled.write(
      'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
    )
    const members = listTree(pid)
    const closed = once(socket, 'close')

    signal('SIGINT')

    expect((await closed)[0], 'service restart').to.equal(1012)
    expect(await exited).to.include({ code: 0, stderr: '' })
    await eventually('nothing of it runs', () => !members.some(isRunning))
  })

  it('accepts no connection while it shuts down, and still answers a request under way', async () => {
    const { url, signal, exited } = await running('second')
    const { headers } = await register(url, 'writer')
    const change = JSON.stringify({ bio: 'written during the shutdown' })
    const patch = request(`${url}/api/users/@me`, {
      method: 'PATCH',
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-length': change.length,
        expect: '100-continue',
      },
    })
    const answered = once(patch, 'response') as Promise<[IncomingMessage]>
    patch.flushHeaders()
    await once(patch, 'continue') // the gateway has the headers and waits for the body

    signal('SIGTERM')

    await eventually('new connections are refused', () => isRefused(url))
    patch.end(change)
    const [response] = await answered
    expect(response.statusCode).to.equal(200)
    expect(await json(response)).to.have.property('bio', 'written during the shutdown')
    expect(await exited).to.include({ code: 0, stderr: '' })
  })
})

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
