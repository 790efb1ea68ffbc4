import { randomBytes, randomUUID } from 'node:crypto'
import type { Fault } from '../reference-peer/reference-peer.ts'
import type { Check } from './run.ts'
import { ask, askSigned, holds, oneOf, same, waitFor, type Side } from './side.ts'

type Row = { id: string; origin: string; status: string }

const accept = '/api/federation/peer/accept'

export async function peersOf(side: Side): Promise<Row[]> {
  const { status, body } = await ask(side, 'GET /api/federation/peers', { token: side.adminToken })
  same('GET peers with the token of --admin', status, 200)
  return body.peers as Row[]
}

const rowOf = async (side: Side) => (await peersOf(side)).find(({ origin }) => origin === side.peer.origin)

const act = async (side: Side, request: string, body?: object) =>
  (await ask(side, request.replace('/peers', '/api/federation/peers'), { token: side.adminToken, body })).status

const initiate = async (side: Side) =>
  (
    await ask(side, 'POST /api/federation/peer/initiate', {
      token: side.adminToken,
      body: { remoteOrigin: side.peer.origin },
    })
  ).status

/** The row of the reference peer, and no other. */
export async function forgetPeering(side: Side): Promise<void> {
  const row = await rowOf(side)
  if (row && !['revoked', 'rejected'].includes(row.status)) await act(side, `DELETE /peers/${row.id}`)
  if (row) await act(side, `DELETE /peers/${row.id}/permanent`)
  if (!side.peer.peer(side.origin)) return
  side.peer.revoke(side.origin)
  side.peer.forget(side.origin)
}

async function peerAnew(side: Side): Promise<Row> {
  await forgetPeering(side)
  side.peer.settings.autoAcceptPeering = true
  same('initiate', await initiate(side), 200)
  await waitFor(async () => (await rowOf(side))?.status === 'active' || undefined)
  return (await rowOf(side))!
}

type Answer = { name: string; rows: string[]; answer: Fault['answer']; then: (string | undefined)[] }

/** What the row is after the answer to an offer of the target. Undefined: there is none. */
const answers: Answer[] = [
  {
    name: '403 PEERING_REQUIRES_APPROVAL',
    rows: ['2.3 403 PEERING'],
    answer: { status: 403, body: { error: 'No', code: 'PEERING_REQUIRES_APPROVAL', statusCode: 403 } },
    then: ['rejected', undefined],
  },
  {
    name: '403 PEER_REVOKED',
    rows: ['2.3 403 PEER_REVOKED'],
    answer: { status: 403, body: { error: 'No', code: 'PEER_REVOKED', statusCode: 403 } },
    then: ['rejected', undefined],
  },
  {
    name: '409 PEER_EXISTS_RESET_REQUIRED',
    rows: ['2.3 409 PEER_EXISTS'],
    answer: { status: 409, body: { error: 'No', code: 'PEER_EXISTS_RESET_REQUIRED', statusCode: 409 } },
    then: ['rejected', 'pending', undefined],
  },
  {
    name: '409 PEER_HANDSHAKE_IN_PROGRESS',
    rows: ['2.3 409 PEER_HANDSHAKE'],
    answer: { status: 409, body: { error: 'No', code: 'PEER_HANDSHAKE_IN_PROGRESS', statusCode: 409 } },
    then: ['pending', undefined],
  },
  {
    name: '200 without proof',
    rows: ['2.3 another 2xx'],
    answer: { status: 200, body: { accepted: true } },
    then: ['needs_attention', 'pending', undefined],
  },
  {
    name: '500',
    rows: ['2.3 anything else'],
    answer: { status: 500, body: { error: 'No', statusCode: 500 } },
    then: ['pending', undefined],
  },
]

/** With the token of an admin. Each begins without a peering or with a new one. */
export const adminChecks: Check[] = [
  {
    name: 'GET peers has the peer, and no secret',
    rows: ['2.1 active'],
    run: async (side) => {
      const { text } = await ask(side, 'GET /api/federation/peers', { token: side.adminToken })
      holds('no secret', !/"[0-9a-f]{64}"/.test(text))
      return same('status', (await rowOf(side))?.status, 'active')
    },
  },
  {
    name: 'GET approval-requests',
    rows: ['2.2 202'],
    run: async (side) => {
      const { status, body } = await ask(side, 'GET /api/federation/approval-requests', { token: side.adminToken })
      return `${same('status', status, 200)}, ${holds('requests', Array.isArray(body.requests))}`
    },
  },
  {
    name: 'the time between rotations, a rotation, a recheck',
    rows: ['2.8 when', '2.8 sender'],
    run: async (side) => {
      const { id } = await peerAnew(side)
      const before = side.peer.peer(side.origin)?.newSecret
      const patched = await act(side, `PATCH /peers/${id}`, { autoRotateIntervalDays: 30 })
      const rotated = await act(side, `POST /peers/${id}/rotate`, {})
      holds('the secret came', side.peer.peer(side.origin)?.newSecret !== before)
      return same('PATCH, rotate', [patched, rotated], [200, 200])
    },
  },
  {
    name: 'a revoked peer: epoch, sync, an offer; then it is forgotten',
    rows: ['2.1 needs_attention, revoked', '2.2 revoked'],
    run: async (side) => {
      const { id } = await peerAnew(side)
      const revoked = await act(side, `DELETE /peers/${id}`)
      const epoch = await askSigned(side, 'POST /api/federation/epoch', {})
      const sync = await askSigned(side, 'POST /api/federation/sync', { sinceTimestamp: Date.now(), limit: 1 })
      const body = { sourceOrigin: side.peer.origin, hmacSecret: randomBytes(32).toString('hex') }
      const offered = await ask(side, `POST ${accept}`, { body })
      if (side.generation === 2 || offered.status !== 202) same('an offer', offered.status, 403)
      const forgotten = await act(side, `DELETE /peers/${id}/permanent`)
      same('the row', await rowOf(side), undefined)
      return same('revoke, epoch, sync, forget', [revoked, epoch.status, sync.status, forgotten], [200, 403, 403, 200])
    },
  },
  {
    name: 'initiate, accepted at once',
    rows: ['2.3 another 2xx'],
    run: async (side) => `200, ${same('the row', (await peerAnew(side)).status, 'active')}`,
  },
  {
    name: 'initiate, queued, then approved',
    rows: ['2.1 awaiting_approval', '2.3 202', '2.2 awaiting_approval'],
    run: async (side) => {
      await forgetPeering(side)
      side.peer.settings.autoAcceptPeering = false
      const results = [await initiate(side), (await rowOf(side))?.status]
      same('initiate, row', results, [202, 'awaiting_approval'])
      const request = side.peer.requests().find(({ origin }) => origin === side.origin)
      const approved = await side.peer.approve(request!.id)
      return `${results.join(', ')}; ${same('approved, row', [approved.status, (await rowOf(side))?.status], [200, 'active'])}`
    },
  },
  {
    name: 'initiate, queued, then denied',
    rows: ['2.1 rejected', '6.1 peer/denied, received'],
    run: async (side) => {
      await forgetPeering(side)
      side.peer.settings.autoAcceptPeering = false
      same('initiate', await initiate(side), 202)
      const request = side.peer.requests().find(({ origin }) => origin === side.origin)
      const denied = await side.peer.deny(request!.id)
      return same('denied, row', [denied.status, (await rowOf(side))?.status], [200, 'rejected'])
    },
  },
  ...answers.map(({ name, rows, answer, then }): Check => ({
    name: `an offer of the target, answered ${name}`,
    rows,
    run: async (side) => {
      await forgetPeering(side)
      side.peer.settings.autoAcceptPeering = true
      side.peer.addFault({ path: accept, answer: answer! })
      const status = await initiate(side)
      return `initiate ${status}, ${oneOf('row', (await rowOf(side))?.status, then)}`
    },
  })),
  {
    name: 'another instanceId parks the peer, and reset forgets it',
    rows: ['2.1 needs_attention'],
    run: async (side) => {
      const { id } = await peerAnew(side)
      const relayAs = (sourceInstanceId: string) =>
        askSigned(side, 'POST /api/federation/relay', {
          version: 1,
          sourceInstance: side.peer.origin,
          sourceInstanceId,
          events: [],
        })
      // The first one becomes the known one.
      await relayAs(side.peer.instanceId())
      const other = randomUUID()
      await relayAs(other)
      // Existing instances take it from an offer.
      const offer = { sourceOrigin: side.peer.origin, hmacSecret: 'a'.repeat(64), instanceId: other }
      if ((await rowOf(side))?.status === 'active') await ask(side, `POST ${accept}`, { body: offer })
      const parked = (await rowOf(side))?.status
      const reset = await act(side, `POST /peers/${id}/reset`, {})
      return same('row, reset, row', [parked, reset, (await rowOf(side))?.status], ['needs_attention', 200, undefined])
    },
  },
]
