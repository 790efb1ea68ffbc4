import { expect } from 'chai'
import { buildPeer } from '../../services/federation-fanout/test/fake-peer.ts'
import type { Fault, Peer, PeerStatus } from '../reference-peer/reference-peer.ts'
import { openReferencePairs, ours, theirs, type ReferencePair } from './reference-pair.ts'

const accept = '/api/federation/peer/accept'
const initiate = { path: '/api/federation/peer/initiate', body: { remoteOrigin: theirs } }
const secret = 'b'.repeat(64)
const token = 'ab'.repeat(32)

const offer = async ({ gate }: ReferencePair) => (await gate.admin('POST', initiate.path, initiate.body)).status

const startReferencePair = openReferencePairs()

const forgetBoth = async ({ gate, nova }: ReferencePair) => {
  await nova.idle()
  await gate.deps.orm.em.fork().execute('delete from peers')
  nova.revoke(ours)
  nova.forget(ours)
}

type Answered = {
  /** What the reference peer has of us before our offer. */
  row: Partial<Peer> & { status?: PeerStatus }
  status: number
  code?: string
  /** What it has afterwards, and what we have of it. */
  then: [theirs: PeerStatus | undefined, ours: string]
}

const [inForce, revoked, asksAdmin] = ['PEER_EXISTS_RESET_REQUIRED', 'PEER_REVOKED', 'PEERING_REQUIRES_APPROVAL']
const taken = { status: 200, then: ['active', 'active'] as Answered['then'] }
const exists = (status: PeerStatus): Answered => ({
  row: { status },
  status: 409,
  code: inForce,
  then: [status, 'pending'],
})
const queued = (status?: PeerStatus): Pick<Answered, 'status' | 'then'> => ({
  status: 202,
  then: [status, 'awaiting_approval'],
})
const final = (status: PeerStatus, code: string): Pick<Answered, 'status' | 'code' | 'then'> => ({
  status: 403,
  code,
  then: [status, 'rejected'],
})
const settled = [
  ...(['active', 'unreachable', 'needs_attention'] as const).map(exists),
  { row: { status: 'revoked' }, ...final('revoked', revoked) },
  { row: { status: 'rejected', statusReason: 'denied_by_local_admin' }, ...final('rejected', asksAdmin) },
] satisfies Answered[]

/** protocol.md 2.2, row by row. */
const answersOfSecond: Record<'on' | 'off', Answered[]> = {
  on: [
    { row: {}, ...taken },
    { row: { status: 'pending' }, ...taken },
    { row: { status: 'awaiting_approval' }, ...taken },
    { row: { status: 'awaiting_approval', approvalToken: token }, ...taken },
    { row: { status: 'rejected', statusReason: 'denied_by_remote' }, ...taken },
    { row: { status: 'rejected' }, ...taken },
    ...settled,
  ],
  off: [
    { row: {}, ...queued() },
    { row: { status: 'pending', byAdmin: true }, ...taken },
    { row: { status: 'pending' }, ...queued('pending') },
    { row: { status: 'awaiting_approval', byAdmin: true, approvalToken: token }, ...queued('awaiting_approval') },
    { row: { status: 'awaiting_approval' }, ...queued('awaiting_approval') },
    { row: { status: 'rejected', statusReason: 'denied_by_remote', byAdmin: true }, ...taken },
    { row: { status: 'rejected', statusReason: 'denied_by_remote' }, ...queued('rejected') },
    { row: { status: 'rejected' }, ...final('rejected', asksAdmin) },
    ...settled,
  ],
}

/** protocol.md 2.2, peer/accept, row by row. */
const answersOfFirst: Record<'on' | 'off', Answered[]> = {
  on: [
    ...[undefined, 'pending', 'awaiting_approval', 'unreachable', 'rejected'].map((status): Answered => ({
      row: status ? { status: status as PeerStatus } : {},
      ...taken,
    })),
    ...(['active', 'needs_attention'] as const).map(exists),
    { row: { status: 'revoked' }, status: 403, then: ['revoked', 'pending'] },
  ],
  off: [
    { row: {}, ...queued() },
    { row: { status: 'pending' }, ...taken },
    ...(['awaiting_approval', 'unreachable', 'active', 'needs_attention', 'revoked'] as const).map(
      (status): Answered => ({ row: { status }, ...queued(status) }),
    ),
    { row: { status: 'rejected' }, ...final('rejected', asksAdmin) },
  ],
}

for (const [generation, answers] of [
  [1, answersOfFirst],
  [2, answersOfSecond],
] as const) {
  describe(`our offer to the reference peer of generation ${generation}, row by row`, () => {
    for (const setting of ['on', 'off'] as const) {
      it(`with its autoAcceptPeering ${setting}`, async () => {
        await using pair = await startReferencePair({
          reference: { generation, settings: { autoAcceptPeering: setting === 'on' } },
        })
        for (const { row, status, code, then } of answers[setting]) {
          await forgetBoth(pair)
          if (row.status) pair.nova.addPeer(ours, { secret, instanceId: null, ...row, status: row.status })

          await offer(pair)

          const answer = pair.nova.log.findLast(({ path, direction }) => direction === 'received' && path === accept)
          const said = JSON.parse(answer?.answer ?? '{}') as { code?: string }
          const [own, its] = await pair.states()
          expect([row, answer?.status, said.code, [its, own]]).to.deep.equal([row, status, code, then])
        }
      })
    }
  })

  /** What our row is, what we answer, what the reference peer makes of it. Contract: 7, Known peers. */
  const known: [status: PeerStatus, answered: number, its: PeerStatus | undefined][] = [
    ...(['active', 'unreachable', 'needs_attention'] as const).map(
      (status): [PeerStatus, number, PeerStatus | undefined] => [
        status,
        409,
        generation === 2 ? 'rejected' : undefined,
      ],
    ),
    ...(['rejected', 'revoked'] as const).map((status): [PeerStatus, number, PeerStatus | undefined] => [
      ...([status, 403] as const),
      generation === 2 ? 'rejected' : undefined,
    ]),
  ]

  describe(`an offer of the reference peer of generation ${generation} to us, row by row`, () => {
    it('is answered as our own row has it', async () => {
      await using pair = await startReferencePair({ reference: { generation } })
      for (const [status, answered, its] of known) {
        await forgetBoth(pair)
        await buildPeer(pair.gate, { host: 'nova.example', origin: theirs, status })

        await pair.nova.initiate(ours)

        const offer = pair.nova.log.findLast(({ path, direction }) => direction === 'sent' && path === accept)
        expect([status, offer?.status, await pair.states()]).to.deep.equal([status, answered, [status, its]])
      }
    })
  })
}

/** protocol.md 2.3, for offers of ours. Contract: 7, Handshake, asking. */
describe('the answer to an offer of ours', () => {
  const refusal = (status: number, code?: string, error = 'No') => ({
    status,
    body: { error, statusCode: status, ...(code && { code }) },
  })
  const answers: [name: string, answer: NonNullable<Fault['answer']>, then: string, again: boolean][] = [
    ['200 that nothing proves', { status: 200, body: { accepted: true } }, 'needs_attention', false],
    ['202 without a token', { status: 202, body: { queued: true } }, 'awaiting_approval', false],
    ['202 with a token', { status: 202, body: { queued: true, approvalToken: token } }, 'awaiting_approval', false],
    [`403 ${asksAdmin}`, refusal(403, asksAdmin), 'rejected', false],
    [`403 ${revoked}`, refusal(403, revoked), 'rejected', false],
    ['403 by its text', refusal(403, undefined, 'Peering with this instance has been revoked'), 'rejected', false],
    ['403 of another kind', refusal(403), 'pending', true],
    [`409 ${inForce}`, refusal(409, inForce), 'pending', false],
    ['409 PEER_HANDSHAKE_IN_PROGRESS', refusal(409, 'PEER_HANDSHAKE_IN_PROGRESS'), 'pending', true],
    ['429', refusal(429), 'pending', true],
    ['302', { status: 302, headers: { location: 'https://else.example/' } }, 'pending', true],
    ['500', refusal(500), 'pending', true],
  ]

  it('decides over our row, and whether we offer again', async () => {
    await using pair = await startReferencePair()
    for (const [name, answer, then, again] of answers) {
      await forgetBoth(pair)
      pair.nova.addFault({ path: accept, answer })

      await offer(pair)
      const [state] = await pair.states()
      const offers = () => pair.nova.log.filter(({ path }) => path === accept).length
      const before = offers()
      pair.clock.advance(61_000)
      await pair.gate.runDue()

      expect([name, state, offers() > before]).to.deep.equal([name, then, again])
    }
  })
})
