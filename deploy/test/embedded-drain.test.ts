import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { eventually, answered } from '@gatehouse/test-kit'
import { WebSocket } from 'ws'
import { databaseUrlOf } from '../../bench/embedded-instance.ts'
import { insertAccounts } from '../../test/revocation/accounts.ts'
import { postJson, startInstance } from './program.ts'

const password = 'a long enough password'
const jwtSecret = 'a secret of this test, which signs its tokens'
const socketsPerAccount = 50

/** A network for each client, because of the limits of each. */
const fromNetwork = (index: number) => ({ 'x-forwarded-for': `10.${Math.floor(index / 256)}.${index % 256}.1` })

describe('npm start, when it is stopped under load', function () {
  this.timeout(300_000)
  let folder: string
  let instance: Awaited<ReturnType<typeof startInstance>>
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-drain-'))
    instance = await startInstance(folder, { TRUST_PROXY: 'loopback', HASHING_THREADS: '1', JWT_SECRET: jwtSecret })
  })
  afterEach(async () => {
    await instance[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  })

  /** Logins that all wait for one hashing thread. */
  async function startLogins(count: number): Promise<Promise<number | string>[]> {
    await answered(postJson(`${instance.url}/api/auth/register`, { username: 'ada', password }))
    let sent = 0
    const logins = Array.from({ length: count }, async (_, index) => {
      sent += 1
      const login = postJson(`${instance.url}/api/auth/login`, { username: 'ada', password }, fromNetwork(index))
      return await login.then(
        ({ status }) => status,
        () => 'lost',
      )
    })
    await Promise.any(logins)
    expect(sent).to.equal(count)
    return logins
  }

  it('what was accepted is answered: logins that wait for hashing too', async () => {
    const logins = await startLogins(24)
    instance.signal('SIGTERM')
    const statuses = await Promise.all(logins)

    // A machine that hashes slower than the drain allows refuses the rest.
    for (const status of statuses) expect(status).to.be.oneOf([200, 503])
    expect(statuses.filter((status) => status === 200)).to.have.length.above(2)
    expect((await instance.exited).code).to.equal(0)
  })

  it('a second signal ends it at once', async () => {
    const logins = await startLogins(60)
    instance.signal('SIGTERM')
    await instance.waitForOutput(/stopping/)
    // Not the same signal, delivered twice.
    await pause(500)
    instance.signal('SIGTERM')

    expect((await instance.exited).code).to.equal(143)
    expect(await Promise.all(logins)).to.include('lost')
  })

  it('Server going away: 1012, spread over a drain period: all of 2,000 sockets', async () => {
    const { accounts } = await insertAccounts(await databaseUrlOf(folder), jwtSecret, 2_000 / socketsPerAccount)
    const closures: { code: number; at: number }[] = []
    async function open(token: string, index: number): Promise<void> {
      const socket = new WebSocket(`${instance.url.replace('http', 'ws')}/ws`, { headers: fromNetwork(index) })
      socket.on('error', () => undefined)
      socket.on('close', (code) => closures.push({ code, at: performance.now() }))
      await once(socket, 'open')
      socket.send(JSON.stringify({ type: 'auth', token }))
      await once(socket, 'message')
    }
    for (let round = 0; round < socketsPerAccount; round += 1) {
      await Promise.all(accounts.map(({ token }, index) => open(token, index)))
    }
    instance.signal('SIGTERM')
    await eventually('all are closed', () => closures.length === 2_000, 60_000)

    const codes = new Map(closures.map(({ code }) => [code, closures.filter((one) => one.code === code).length]))
    expect(Object.fromEntries(codes)).to.deep.equal({ 1012: 2_000 })
    expect(closures.at(-1)!.at - closures[0]!.at).to.be.above(2_000)
    expect((await instance.exited).code).to.equal(0)
  })
})
