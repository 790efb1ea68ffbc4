import { peerChanged } from '@gatehouse/contracts'
import { answered, eventually, insertUser } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { buildPeer, secretOfPeer, sendAsPeer, startFakePeer } from './fake-peer.ts'
import { startTestInstance } from './harness.ts'

describe('PeerChanged', () => {
  it('names the request that changed a peer or a waiting request, and none where the periodic task did', async () => {
    await using instance = await startTestInstance('a', { autoAccept: false })
    await using remote = await startFakePeer('b')
    await using other = await startFakePeer('c')
    remote.now = other.now = () => instance.clock.now()
    other.secret = secretOfPeer
    const published: (string | undefined)[] = []
    await using _subscription = await instance.deps.bus.subscribe(peerChanged, async ({ requestId }) => {
      published.push(requestId)
    })
    const user = await insertUser(instance.deps)
    const execute = async (sql: string) => await instance.deps.orm.em.fork().execute<{ id: string }[]>(sql)
    const as = { id: '1', username: 'admin', isAdmin: true }
    const federation = '/api/federation'
    const send = async (requestId: string, path: string, given: { body?: object; as?: typeof as } = { as }) => {
      const headers = { 'X-Request-Id': requestId }
      return await instance.call('POST', `${federation}/${path}`, { ...given, headers })
    }
    const waitingId = async (origin: string) =>
      (await execute(`select id::text as id from approval_requests where source_origin = '${origin}'`))[0]!.id
    const offer = { sourceOrigin: other.origin, hmacSecret: secretOfPeer, instanceName: 'Other' }
    const denial = { origin: instance.origin, reason: 'denied_by_admin', message: 'No' }
    const asPeer = (requestId: string, path: string, body: object) =>
      sendAsPeer(instance, ['POST', path, body], {
        origin: remote.origin,
        secret: secretOfPeer,
        headers: { 'X-Request-Id': requestId },
      })

    await answered(send('initiate', 'peer/initiate', { as, body: { remoteOrigin: remote.origin } }))
    const [{ id }] = (await execute('select id::text as id from peers')) as [{ id: string }]
    await execute("update peers set status = 'needs_attention'")
    await answered(send('recheck', `peers/${id}/recheck`))
    await execute("update peers set status = 'unreachable', next_attempt_at = now()")
    await answered(send('probe', `peers/${id}/recheck`))
    await execute("update peers set status = 'needs_attention'")
    await answered(send('reset', `peers/${id}/reset`))
    await buildPeer(instance, { host: remote.host, origin: remote.origin, status: 'pending' })
    await answered(asPeer('denial', `${federation}/peer/denied`, denial))
    await answered(send('offer', 'peer/accept', { body: offer }), 202)
    await answered(send('deny', `approval-requests/${await waitingId(other.origin)}/deny`))
    const wish = {
      as: { id: user.id, username: user.username, isAdmin: false },
      body: { remoteOrigin: 'https://wished.example' },
    }
    await answered(send('ensure', 'peer/ensure', wish))
    await answered(send('approve', `approval-requests/${await waitingId('https://wished.example')}/approve`))
    await execute("update peers set status = 'unreachable', next_attempt_at = now() - interval '1 day'")
    await instance.runDue()

    await eventually('the periodic task changed a peer', () => published.includes(undefined))
    const named = published.slice(0, published.indexOf(undefined))
    const acts = ['initiate', 'recheck', 'probe', 'reset', 'denial', 'offer', 'deny', 'ensure', 'approve']
    expect([...new Set(named)]).to.deep.equal(acts)
  })
})
