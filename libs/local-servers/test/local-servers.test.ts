import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { connect } from 'nats'
import { eventually } from '@gatehouse/test-kit'
import { isRunning, startNats, startEphemeralPostgres, startRedis } from '../src/index.ts'
import { query } from './query.ts'

describe('a local server', () => {
  it('PostgreSQL has its committed transactions after a kill and a start, on the same port', async () => {
    await using postgres = await startEphemeralPostgres()
    const firstPid = postgres.pid
    await query(postgres.url, 'create table kept as select 7 as number')

    await postgres.kill()
    await postgres.start()

    expect(await query(postgres.url, 'select number from kept')).to.deep.equal([{ number: 7 }])
    expect(postgres.pid).to.not.equal(firstPid)
    expect(isRunning(firstPid)).to.equal(false)
  })

  it('PostgreSQL has the given settings', async () => {
    await using postgres = await startEphemeralPostgres({ settings: { max_connections: '17' } })

    expect(await query(postgres.url, 'show max_connections')).to.deep.equal([{ max_connections: '17' }])
  })

  it('NATS keeps its streams over a stop and a start', async () => {
    await using nats = await startNats()
    const before = await connect({ servers: nats.url, reconnect: false })
    await (await before.jetstreamManager()).streams.add({ name: 'kept', subjects: ['kept.>'] })
    await before.close()

    await nats.stop()
    await nats.start()

    const after = await connect({ servers: nats.url, reconnect: false })
    expect((await (await after.jetstreamManager()).streams.info('kept')).config.name).to.equal('kept')
    await after.close()
  })

  it('NATS has the given configuration', async () => {
    await using nats = await startNats({ config: 'authorization { user: u, password: p }' })

    const refused = await connect({ servers: nats.url, reconnect: false }).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(Error)
    await (await connect({ servers: nats.url, user: 'u', pass: 'p', reconnect: false })).close()
  })

  it('answers nothing while it is paused, and answers after it is resumed', async () => {
    await using server = await startRedis()
    const redis = new Redis(server.url)
    await redis.ping()

    server.pause()
    const answer = redis.ping()
    const first = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 100, 'no answer'))])
    server.resume()

    expect(first).to.equal('no answer')
    expect(await answer).to.equal('PONG')
    redis.disconnect()
  })

  it('ends when its owner is killed, and its folder is removed', async () => {
    const source = `
      import { startEphemeralPostgres, startNats, startRedis } from '@gatehouse/local-servers'
      const servers = await Promise.all([startEphemeralPostgres(), startNats(), startRedis()])
      console.log(JSON.stringify(servers.map(({ pid }) => pid)))
      setInterval(() => undefined, 1000)`
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-orphans-'))
    const env = { ...process.env, GATEHOUSE_DATA: folder, GATEHOUSE_TEST_SCRATCH: '' }
    const owner = spawn(process.execPath, ['--input-type=module', '--eval', source], { cwd: import.meta.dirname, env })
    const [line] = (await once(createInterface({ input: owner.stdout }), 'line')) as [string]
    const pids = JSON.parse(line) as number[]
    expect(pids.map(isRunning)).to.deep.equal([true, true, true])

    owner.kill('SIGKILL')

    await eventually('all three have ended', () => pids.every((pid) => !isRunning(pid)))
    await eventually('their folders are removed', () => readdirSync(join(env.GATEHOUSE_DATA, 'scratch')).length === 0)
    await rm(env.GATEHOUSE_DATA, { recursive: true })
  })

  it('ends when it is disposed of, and its folder is removed', async () => {
    const server = await startRedis()
    const redis = new Redis(server.url)
    const [, folder = ''] = await redis.config('GET', 'dir')
    redis.disconnect()
    expect(existsSync(folder)).to.equal(true)

    await server[Symbol.asyncDispose]()

    expect(existsSync(folder)).to.equal(false)
    expect(isRunning(server.pid)).to.equal(false)
  })
})
