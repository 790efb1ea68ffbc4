import { claimDue, deleteInSteps, read, type DueQueue } from '@gatehouse/database'
import { ApprovalRequest, Peer, type PeerStatus } from '@gatehouse/domain'
import { startPeriodicTask, type PeriodicTask, type Timer } from '@gatehouse/runtime'
import { LockMode } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { continueHandshake } from '../handshake/attempt-handshake.ts'
import { proveStoredOffer } from '../handshake/offers.ts'
import type { HandshakeDeps } from '../handshake/prove-secret.ts'
import { rotateSecret } from '../operations/administer-peer.ts'
import { rejectOrigin, sendDenial } from '../operations/decide-request.ts'
import { detachFormerAccounts, probePeer, rememberInstance } from '../peers/peer-states.ts'
import { withPeer, type PeerDeps } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'
import { deliverDue, dueDeliveries } from '../relay/deliver-profiles.ts'
import { syncPeer } from './sync-peer.ts'

type MaintenanceDeps = HandshakeDeps & Pick<Deps, 'bus' | 'background'>
type Step<Row> = (deps: MaintenanceDeps, row: Row) => Promise<unknown>

/** In other states nothing is due. docs/decisions/peering.md. */
const peerSteps: Partial<Record<PeerStatus, Step<Peer>>> = {
  pending: continueHandshake,
  awaiting_approval: continueHandshake,
  active: syncPeer,
  unreachable: probePeer,
}

const requestSteps: Partial<Record<string, Step<ApprovalRequest>>> = {
  unproven: proveStoredOffer,
  denied: sendDenial,
  expired: sendDenial,
}

/** One task for each instance: a slow one delays no other. Any number of replicas may run it. */
async function runDue(deps: MaintenanceDeps): Promise<void> {
  if (!(await isAnythingDue(deps))) return
  const { background, orm } = deps
  await deleteExpired(deps)
  background.start('expiry', () => expireOld(deps))
  const em = orm.em.fork()
  const peers = await em.find(Peer, { id: { $in: await claimKeys(deps, 'peers') } })
  for (const peer of peers) background.start(`handshake ${peer.origin}`, () => peerSteps[peer.status]?.(deps, peer))
  const requests = await em.find(ApprovalRequest, { id: { $in: await claimKeys(deps, 'requests') } })
  for (const request of requests) {
    background.start(`request ${request.id}`, () => requestSteps[request.status]?.(deps, request))
  }
  for (const id of await claimKeys(deps, 'rotations')) {
    background.start(`rotation ${id}`, () => rotateSecret(deps, { id }))
  }
  for (const origin of await claimKeys(deps, 'resets')) {
    background.start(`detach ${origin}`, () => detachFormerAccounts(deps, origin))
  }
  await deliverDue(deps)
}

export function startMaintenance(deps: MaintenanceDeps, timer?: Timer): PeriodicTask {
  const options = { name: 'federation maintenance', everyMs: policy.maintenanceMs, log: deps.log }
  return startPeriodicTask({ ...options, ...(timer && { timer }) }, () => runDue(deps))
}

const queues = {
  peers: { table: 'peers', key: 'id' },
  rotations: { table: 'peers', key: 'id', time: 'next_rotation_at', where: "status = 'active'" },
  requests: { table: 'approval_requests', key: 'id' },
  resets: { table: 'peer_resets', key: 'origin' },
} satisfies Record<string, DueQueue>
const rowsOf = ({ table, time = 'next_attempt_at', where = 'true' }: DueQueue) =>
  `${table} where ${where} and ${time} <= ?`

/** Further rows that are due. The parameter is the time. */
const endsOfRequests = "approval_requests where expires_at <= ? and status = 'pending'"
const endsOfPeers = "peers where expires_at <= ? and status = 'pending'"
/** They are only deleted. */
const expired = Object.entries({
  approval_requests: "expires_at <= ? and status = 'unproven'",
  attach_proofs: 'expires_at <= ?',
  // The other side may still send one at its last moment.
  federation_nonces: 'expires_at < ?',
  federation_limits: 'ends_at <= ?',
  signing_networks: 'ends_at <= ?',
  federation_deliveries: 'expires_at <= ?',
})

const rowsToDelete = expired.map(([table, where]) => `${table} where ${where}`)
const dueRows = [...Object.values(queues).map(rowsOf), dueDeliveries, endsOfRequests, endsOfPeers, ...rowsToDelete]
const anyDue = `select ${dueRows.map((rows) => `exists (select from ${rows})`).join(' or ')} as "isDue"`

/** Nearly always false: it saves most statements at rest. */
export async function isAnythingDue({ orm, clock }: Pick<Deps, 'orm' | 'clock'>): Promise<boolean> {
  const now = new Date(clock.now())
  const [row] = await read<{ isDue: boolean }>(orm.em.fork(), anyDue, Array(dueRows.length).fill(now))
  return row?.isDue === true
}

/** Returns the keys. */
async function claimKeys({ orm, clock }: Pick<Deps, 'orm' | 'clock'>, name: keyof typeof queues): Promise<string[]> {
  const queue = queues[name]
  const claim = { now: clock.now(), leaseMs: policy.leaseMs, most: policy.duePerRun }
  const returning = `${queue.key}::text as key`
  const rows = await claimDue<{ key: string }>(orm.em.fork(), queue, { ...claim, returning })
  return rows.map(({ key }) => key)
}

export async function deleteExpired({ orm, clock }: Pick<Deps, 'orm' | 'clock'>): Promise<void> {
  const parameters = [new Date(clock.now())]
  for (const [table, where] of expired) {
    await deleteInSteps(orm, { table, where, parameters, rows: policy.rowsRemovedAtOnce })
  }
}

type Ending = { id: string; origin: string }

/** Origins of undecided requests are told. Contract: 7, consent. */
async function expireOld(deps: PeerDeps): Promise<void> {
  const em = deps.orm.em.fork()
  const parameters = [new Date(deps.clock.now()), policy.duePerRun]
  const requests = `select id::text as id, source_origin as origin from ${endsOfRequests} limit ?`
  for (const request of await read<Ending>(em, requests, parameters)) await expireRequest(deps, request)
  const peers = `select id::text as id, origin from ${endsOfPeers} limit ?`
  for (const { origin } of await read<Ending>(em, peers, parameters)) await expirePeer(deps, origin)
}

async function expireRequest(deps: PeerDeps, { id, origin }: Ending): Promise<void> {
  await withPeer(deps, { origin }, async (em) => {
    const lockMode = LockMode.PESSIMISTIC_WRITE
    const request = await em.findOne(ApprovalRequest, { id, status: 'pending' }, { lockMode })
    if (!request) return
    const now = new Date(deps.clock.now())
    request.expire(now)
    await rejectOrigin(deps, em, { request, reason: 'expired', now })
  })
}

async function expirePeer(deps: PeerDeps, origin: string): Promise<void> {
  await withPeer(deps, { origin }, async (em, peer) => {
    const isOver = peer?.status === 'pending' && (peer.expiresAt?.getTime() ?? Infinity) <= deps.clock.now()
    if (!isOver) return
    await rememberInstance(em, peer)
    em.remove(peer)
  })
}
