import { detachHome } from '@gatehouse/contracts'
import { changeRows, read } from '@gatehouse/database'
import { ApprovalRequest, Peer } from '@gatehouse/domain'
import { startPeriodicTask, type PeriodicTask, type Timer } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { continueHandshake } from '../handshake/attempt-handshake.ts'
import { proveStoredOffer } from '../handshake/keep-offer.ts'
import { claimDue, isAnythingDue, deleteExpired, expireOld } from './due.ts'
import { probePeer } from './probe-peer.ts'
import { rotateSecret } from './rotate-secret.ts'
import { sendDenial } from './send-denial.ts'
import { syncPeer } from './sync-peer.ts'
import { policy } from '../policy.ts'
import { deliverDue } from '../relay/deliver-profiles.ts'

type Step<T> = ((deps: Deps, row: T) => Promise<unknown>) | null

/** docs/decisions/peering.md. */
const peerSteps: Record<Peer['status'], Step<Peer>> = {
  pending: continueHandshake,
  awaiting_approval: continueHandshake,
  active: syncPeer,
  unreachable: probePeer,
  needs_attention: null,
  rejected: null,
  revoked: null,
}

const requestSteps: Record<string, Step<ApprovalRequest>> = {
  unproven: proveStoredOffer,
  pending: null,
  approved: null,
  denied: sendDenial,
  expired: sendDenial,
}

/** One task for each instance: a slow one delays no other. Any number of replicas may run it. */
export async function runDue(deps: Deps): Promise<void> {
  if (!(await isAnythingDue(deps))) return
  await deleteExpired(deps)
  start(deps, 'expiry', () => expireOld(deps))
  const em = deps.orm.em.fork()
  const peers = await em.find(Peer, { id: { $in: await claimDue(deps, 'peers') } })
  for (const peer of peers) start(deps, `handshake ${peer.origin}`, () => peerSteps[peer.status]?.(deps, peer))
  const requests = await em.find(ApprovalRequest, { id: { $in: await claimDue(deps, 'requests') } })
  for (const request of requests) {
    start(deps, `request ${request.id}`, () => requestSteps[request.status]?.(deps, request))
  }
  for (const id of await claimDue(deps, 'rotations')) start(deps, `rotation ${id}`, () => rotateSecret(deps, { id }))
  for (const origin of await claimDue(deps, 'resets')) {
    start(deps, `detach ${origin}`, () => detachFormerAccounts(deps, origin))
  }
  await deliverDue(deps)
}

function start({ background }: Deps, name: string, work: () => Promise<unknown> | undefined): void {
  background.start(name, async () => await work())
}

export function startMaintenance(deps: () => Deps, { log }: Pick<Deps, 'log'>, timer?: Timer): PeriodicTask {
  const options = { name: 'federation maintenance', everyMs: policy.maintenanceMs, log }
  return startPeriodicTask({ ...options, ...(timer && { timer }) }, () => runDue(deps()))
}

/** Repeated until identity has done it. Contract: 7, detached accounts; federation-wire.md 2.6. */
async function detachFormerAccounts({ orm, bus, log }: Deps, origin: string): Promise<void> {
  const em = orm.em.fork()
  const sql = 'select host from peer_resets where origin = ? and new_instance_id is not null'
  const [row] = await read<{ host: string }>(em, sql, [origin])
  if (!row) return
  await bus.request(detachHome, { host: row.host }, { timeoutMs: policy.profileCallTimeoutMs })
  await changeRows(em, 'delete from peer_resets where origin = ? and new_instance_id is not null', [origin])
  log.info({ origin, host: row.host }, 'accounts of a former instance detached')
}
