import { changeRows, read } from '@gatehouse/database'
import { ApprovalRequest } from '@gatehouse/domain'
import { LockMode } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { rejectOrigin } from '../operations/deny-request.ts'
import { withPeer } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'
import { due } from './due.ts'

type Ending = { id: string; origin: string }

export async function deleteExpired({ orm, clock }: Deps): Promise<void> {
  for (const rows of due.expired) await changeRows(orm.em.fork(), `delete from ${rows}`, [new Date(clock.now())])
}

/** Origins of undecided requests are told. Contract: 7. */
export async function expireOld(deps: Deps): Promise<void> {
  const em = deps.orm.em.fork()
  const parameters = [new Date(deps.clock.now()), policy.duePerRun]
  const requests = `select id::text as id, source_origin as origin from ${due.endsOfRequests} limit ?`
  for (const request of await read<Ending>(em, requests, parameters)) await expireRequest(deps, request)
  const peers = `select id::text as id, origin from ${due.endsOfPeers} limit ?`
  for (const { origin } of await read<Ending>(em, peers, parameters)) await expirePeer(deps, origin)
}

async function expireRequest(deps: Deps, { id, origin }: Ending): Promise<void> {
  await withPeer(deps, origin, async (em) => {
    const lockMode = LockMode.PESSIMISTIC_WRITE
    const request = await em.findOne(ApprovalRequest, { id, status: 'pending' }, { lockMode })
    if (!request) return
    const now = new Date(deps.clock.now())
    request.expire(now)
    await rejectOrigin(deps, em, { request, reason: 'expired', now })
  })
}

async function expirePeer(deps: Deps, origin: string): Promise<void> {
  await withPeer(deps, origin, async (em, peer) => {
    const isOver = peer?.status === 'pending' && (peer.expiresAt?.getTime() ?? Infinity) <= deps.clock.now()
    if (isOver) em.remove(peer)
  })
}
