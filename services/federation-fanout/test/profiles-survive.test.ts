import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import type { ServerResponse } from 'node:http'
import { connectNats } from '@gatehouse/bus'
import { profileChanged } from '@gatehouse/contracts'
import { openDatabase, urlForRole } from '@gatehouse/database'
import {
  capturedLog,
  eventually,
  freePort,
  insertUser,
  migratedDatabase,
  startNats,
  testCallerKeys,
} from '@gatehouse/test-kit'
import { expect } from 'chai'
import { secretOfPeer, sendJson, startFakePeer } from './fake-peer.ts'

const waitMs = 60_000

type Relay = { events: { messageId: string; profileUpdate: { displayName: string; profileUpdatedAt: number } }[] }

/** Design: a change of a profile is not lost and does not come out of order, also when the process is killed. */
describe('changes of profiles and kill -9', () => {
  async function startWorld() {
    await using opening = new AsyncDisposableStack()
    const database = opening.use(await migratedDatabase())
    const orm = opening.adopt(await openDatabase({ url: database.url, connections: 4 }), (open) => open.close())
    const nats = opening.use(await startNats())
    const bus = opening.use(await connectNats({ url: nats.url, name: 'identity', log: capturedLog().log }))
    const peer = opening.use(await startFakePeer('b'))
    const em = () => orm.em.fork()
    await em().execute('update instance_settings set instance_id = gen_random_uuid()')
    const sql = `insert into peers (id, origin, host, secret, status) values (next_snowflake(), ?, ?, ?, 'active')`
    await em().execute(sql, [peer.origin, peer.host, secretOfPeer])
    const replicatedInstances = [{ origin: peer.origin, username: 'erin@a.test' }]
    const user = await insertUser({ orm }, { username: 'erin', replicatedInstances })
    let at = Date.now()
    const open = opening.move()
    return {
      orm,
      peer,
      user,
      database,
      nats,
      change: async (displayName: string) => {
        at += 1_000
        const values = [displayName, at, user.id]
        await em().execute('update users set display_name = ?, profile_updated_at = ? where id = ?', values)
        const state = {
          userId: user.id,
          username: 'erin',
          version: 2,
          isAdmin: false,
          isDeleted: false,
          passwordChangedAt: null,
          sessionsEndedAt: null,
        }
        const payload = { userId: user.id, at, profileUpdatedAt: at, changed: ['displayName'], state }
        await bus.publish(profileChanged, payload, { id: randomUUID() })
      },
      queued: async () => await em().execute<{ attempts: number }[]>('select attempts from federation_deliveries'),
      /** The lease of a killed process, and the wait after a failure, are over. */
      passTime: async () => await em().execute('update federation_deliveries set next_attempt_at = now()'),
      start: () => startProcess({ database, nats, peer }),
      [Symbol.asyncDispose]: () => open.disposeAsync(),
    }
  }

  it('loses none and reorders none, wherever the process is killed', async () => {
    await using world = await startWorld()
    const shown: string[] = []
    const held: ServerResponse[] = []
    let holds = true
    world.peer.answer = ({ path, body }, response) => {
      if (path !== '/api/federation/relay') return false
      const { events } = JSON.parse(body.toString()) as Relay
      shown.push(...events.map(({ profileUpdate }) => profileUpdate.displayName))
      if (holds) held.push(response)
      else sendJson(response, 200, { accepted: events.map(({ messageId }) => messageId), rejected: [] })
    }

    // While the peer has the event and the process waits for its answer.
    const first = await world.start()
    await world.change('First')
    await eventually('the peer has the first', () => held.length === 1, waitMs)
    await first.kill()
    const afterFirst = await world.queued()

    // While nobody runs: the event waits in the stream.
    await world.change('Second')
    await world.change('Third')
    const second = await world.start()
    await world.passTime()
    await eventually('the peer has the third', () => shown.at(-1) === 'Third', waitMs)
    await second.kill()

    // A last one, that is answered.
    holds = false
    const third = await world.start()
    await world.change('Fourth')
    await world.passTime()
    const isOver = async () => (await world.queued()).length === 0 && shown.at(-1) === 'Fourth'
    await eventually('nothing is queued', isOver, waitMs)
    await third.kill()

    const order = ['First', 'Second', 'Third', 'Fourth']
    const places = shown.map((name) => order.indexOf(name))
    expect(afterFirst).to.have.length(1)
    expect(places).to.deep.equal(places.toSorted((one, other) => one - other))
  })
})

type World = { database: { url: string }; nats: { url: string }; peer: { origin: string; host: string } }

/** The service as a process of its own, as it runs in a cluster. */
async function startProcess({ database, nats, peer }: World) {
  const port = await freePort()
  const { hostname, port: peerPort } = new URL(peer.origin)
  const child = spawn(process.execPath, [new URL('../src/main.ts', import.meta.url).pathname], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      LOG_LEVEL: 'warn',
      DATABASE_URL: urlForRole(database.url, 'federation-fanout'),
      NATS_URL: nats.url,
      CALLER_KEYS: testCallerKeys.lines.join('\n'),
      ENCRYPTION_SECRET: 'a secret that encrypts in the tests of federation',
      PUBLIC_ORIGIN: 'https://a.test',
      HOST: '127.0.0.1',
      FEDERATION_FANOUT_PORT: String(port),
      FEDERATION_ALLOW_PRIVATE: '127.0.0.0/8',
      FEDERATION_RESOLVE: `${hostname}=127.0.0.1:${peerPort}`,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = once(child, 'exit')
  return {
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}
