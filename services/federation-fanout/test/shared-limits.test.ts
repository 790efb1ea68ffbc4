import { insertUser } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/runtime'
import { expect } from 'chai'
import { buildPeer, sendAsPeer } from './fake-peer.ts'
import { startTestInstance, type TestAnswer } from './harness.ts'

const minute = 60_000

describe('limits of peers and users', () => {
  async function startReplicas() {
    const clock = movableClock()
    const one = await startTestInstance('a', { autoAccept: false, resources: { clock } })
    const other = await startTestInstance('a', { databaseUrl: one.databaseUrl, resources: { clock } })
    return {
      ...{ one, other, clock },
      [Symbol.asyncDispose]: async () => {
        await other[Symbol.asyncDispose]()
        await one[Symbol.asyncDispose]()
      },
    }
  }

  it('are counted for all replicas together, by peer, and end with their window', async () => {
    await using replicas = await startReplicas()
    const peer = await buildPeer(replicas.one, { host: 'home.example' })
    const another = await buildPeer(replicas.one, { host: 'away.example' })
    const lookUp = async (replica: 'one' | 'other', { origin, secret } = peer) => {
      const message = ['POST', '/api/federation/users/by-home-id', { homeUserId: 'x' }] as [string, string, object]
      return (await sendAsPeer(replicas[replica], message, { origin, secret })).status
    }

    for (let count = 0; count < 30; count += 1) {
      expect([await lookUp('one'), await lookUp('other')]).to.deep.equal([200, 200])
    }
    const beyond = [await lookUp('one'), await lookUp('other'), await lookUp('one', another)]
    replicas.clock.advance(minute)
    const later = await lookUp('other')

    expect(beyond).to.deep.equal([429, 429, 200])
    expect(later).to.equal(200)
  })

  it('peer/ensure: three in a quarter of an hour for each user, whichever replica is asked', async () => {
    await using replicas = await startReplicas()
    const user = await insertUser(replicas.one.deps)
    const ensure = (replica: 'one' | 'other') =>
      replicas[replica].call('POST', '/api/federation/peer/ensure', {
        ...{ as: { id: user.id }, body: { remoteOrigin: 'https://b.example' } },
      })

    const answers = [await ensure('one'), await ensure('other'), await ensure('one'), await ensure('other')]
    replicas.clock.advance(15 * minute - 1)
    const before = await ensure('one')
    replicas.clock.advance(1)
    const after = await ensure('one')

    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 429])
    expect(answers[3]?.headers.get('retry-after')).to.equal('900')
    expect([before.status, after.status]).to.deep.equal([429, 200])
  })

  it('are told with every answer, like those of the gateway', async () => {
    await using replicas = await startReplicas()
    const user = await insertUser(replicas.one.deps)
    const peer = await buildPeer(replicas.one, { host: 'home.example' })
    const ensure = () =>
      replicas.one.call('POST', '/api/federation/peer/ensure', {
        ...{ as: { id: user.id }, body: { remoteOrigin: 'https://b.example' } },
      })
    const ask = (path: string, body: object) => sendAsPeer(replicas.one, ['POST', path, body], peer)
    const told = ({ headers }: TestAnswer) =>
      ['limit', 'remaining', 'reset'].map((name) => headers.get(`ratelimit-${name}`))

    const first = await ensure()
    replicas.clock.advance(minute + 1)
    const others = [await ensure(), await ensure(), await ensure()]
    const unknown = await ask('/api/federation/users/lookup', { username: 'nobody' })
    const malformed = await ask('/api/federation/relay', { events: 'none' })

    expect([first, ...others].map(told)).to.deep.equal([
      ['3', '2', '900'],
      ['3', '1', '840'],
      ['3', '0', '840'],
      ['3', '0', '840'],
    ])
    expect(others[2]?.status).to.equal(429)
    expect([unknown.status, told(unknown)]).to.deep.equal([404, ['60', '59', '60']])
    expect([malformed.status, told(malformed)]).to.deep.equal([400, ['90', '89', '60']])
  })

  it('leave no rows behind once their windows have ended', async () => {
    await using replicas = await startReplicas()
    const peer = await buildPeer(replicas.one, { host: 'home.example' })
    const message = ['POST', '/api/federation/users/by-home-id', { homeUserId: 'x' }] as [string, string, object]
    const rows = async () => (await replicas.one.deps.orm.em.fork().execute('select 1 from federation_limits')).length
    await sendAsPeer(replicas.one, message, peer)

    await replicas.one.runDue()
    const before = await rows()
    replicas.clock.advance(minute)
    await replicas.one.runDue()

    expect([before, await rows()]).to.deep.equal([1, 0])
  })
})
