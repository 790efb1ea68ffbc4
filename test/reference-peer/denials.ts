import { call, isSuccess } from './calls.ts'
import { readFederationHeaders, requireSignature, takenSecrets } from './checks.ts'
import type { ApprovalRequest, Instance } from './instance.ts'
import { outcome, putPeer, rejectPeer } from './peering.ts'
import type { Outcome } from './peering.ts'
import { refused, reply } from './replies.ts'
import type { ReceivedRequest, Reply } from './replies.ts'

/** An order of checks of its own, and no nonce among them. wire: 2.2, peer/denied */
export function answerDenied(instance: Instance, request: ReceivedRequest): Reply {
  const headers = readFederationHeaders(request.headers)
  if (!headers) throw refused(401, 'Missing or invalid federation headers')
  const peer = instance.peers.get(headers.origin)
  if (!peer) throw refused(404, 'Unknown peer')
  if (peer.status !== 'awaiting_approval') throw refused(409, 'Nothing waits for an approval')
  requireSignature(instance, request, { headers, secrets: takenSecrets(instance, peer) })
  rejectPeer(instance, peer)
  return reply(200, { acknowledged: true })
}

type Denial = { reason: 'denied_by_admin' | 'expired'; message: string }

/** Only a 2xx lets it take effect; then the own row is rejected, with the secret of the offer. wire: 2.2 */
export async function denyRequest(instance: Instance, requestId: string, message = ''): Promise<Outcome> {
  const request = instance.requests.get(requestId)
  if (!request) return outcome(404, { error: 'No such request' })
  if (request.secret !== null) {
    const isTaken = await sendDenial(instance, request, { reason: 'denied_by_admin', message })
    if (!isTaken) return outcome(502, { error: 'The other side did not take the denial' })
    const peer = instance.peers.get(request.origin)
    if (peer) Object.assign(peer, { secret: request.secret, newSecret: null })
    const row = peer ?? putPeer(instance, request.origin, { status: 'rejected', secret: request.secret })
    rejectPeer(instance, row)
    row.statusReason = 'denied_by_local_admin'
  }
  instance.requests.delete(requestId)
  return outcome(200, { success: true })
}

/** Every hour until it is taken. An expiry leaves no row of its own. wire: 2.2 */
export async function expireRequests(instance: Instance): Promise<void> {
  const now = instance.now()
  const expired = [...instance.requests.values()].filter((request) => request.expiresAt <= now)
  await Promise.all(
    expired.map(async (request) => {
      const denial = { reason: 'expired', message: 'The request has expired' } as const
      const isDone = request.secret === null || (await sendDenial(instance, request, denial))
      if (isDone) instance.requests.delete(request.id)
    }),
  )
}

/** Signed with the secret of the offer that is refused. wire: 2.2 */
async function sendDenial(instance: Instance, { origin, secret }: ApprovalRequest, denial: Denial): Promise<boolean> {
  const body = { origin: instance.origin, ...denial }
  const request = { origin, method: 'POST', path: '/api/federation/peer/denied', body } as const
  const timeoutMs = instance.timeoutsMs.message
  return isSuccess(await call(instance, { ...request, timeoutMs, ...(secret === null ? {} : { secret }) }))
}
