import { ApprovalRequest, Peer, type PeerStatus } from '@gatehouse/domain'
import { startPeriodicTask, type PeriodicTask, type Timer } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { continueHandshake } from '../handshake/attempt-handshake.ts'
import { proveStoredOffer } from '../handshake/offers.ts'
import { detachFormerAccounts, probePeer } from '../peers/instance.ts'
import { policy } from '../policy.ts'
import { deliverDue } from '../relay/deliver-profiles.ts'
import { claimDue, isAnythingDue, deleteExpired, expireOld } from './due.ts'
import { rotateSecret } from './rotate-secret.ts'
import { sendDenial } from './send-denial.ts'
import { syncPeer } from './sync-peer.ts'

type Step<Row> = (deps: Deps, row: Row) => Promise<unknown>

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
async function runDue(deps: Deps): Promise<void> {
  if (!(await isAnythingDue(deps))) return
  const { background, orm } = deps
  await deleteExpired(deps)
  background.start('expiry', () => expireOld(deps))
  const em = orm.em.fork()
  const peers = await em.find(Peer, { id: { $in: await claimDue(deps, 'peers') } })
  for (const peer of peers) background.start(`handshake ${peer.origin}`, () => peerSteps[peer.status]?.(deps, peer))
  const requests = await em.find(ApprovalRequest, { id: { $in: await claimDue(deps, 'requests') } })
  for (const request of requests) {
    background.start(`request ${request.id}`, () => requestSteps[request.status]?.(deps, request))
  }
  for (const id of await claimDue(deps, 'rotations')) {
    background.start(`rotation ${id}`, () => rotateSecret(deps, { id }))
  }
  for (const origin of await claimDue(deps, 'resets')) {
    background.start(`detach ${origin}`, () => detachFormerAccounts(deps, origin))
  }
  await deliverDue(deps)
}

export function startMaintenance(deps: () => Deps, { log }: Pick<Deps, 'log'>, timer?: Timer): PeriodicTask {
  const options = { name: 'federation maintenance', everyMs: policy.maintenanceMs, log }
  return startPeriodicTask({ ...options, ...(timer && { timer }) }, () => runDue(deps()))
}
