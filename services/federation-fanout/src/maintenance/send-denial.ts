import { ApprovalRequest, Peer } from '@gatehouse/domain'
import { endpoints } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { sendSigned, tryExchange } from '../peers/send-signed.ts'
import { delayAfter, policy } from '../policy.ts'

const messages = {
  denied_by_admin: 'The admin of this instance has denied the request',
  expired: 'No admin of this instance decided in time',
}

/** Stops when an admin has initiated, or at 2xx, 404 and 409. federation-wire.md 2.2, peer/denied. */
export async function sendDenial(deps: Deps, request: ApprovalRequest): Promise<void> {
  const { id, sourceOrigin: origin, secret, attempts } = request
  const status = secret && (await isRejected(deps, origin)) ? await post(deps, request, secret) : 404
  const isHeard = (status >= 200 && status <= 299) || status === 404 || status === 409
  const isOver = isHeard || attempts + 1 >= policy.denialAttempts
  const due = new Date(deps.clock.now() + delayAfter(policy.repeatDelaysMs, attempts))
  const changes = { attempts: attempts + 1, nextAttemptAt: isOver ? null : due }
  await deps.orm.em.fork().nativeUpdate(ApprovalRequest, { id }, changes)
  deps.log.info({ origin, status, isHeard }, 'denial sent')
}

async function isRejected({ orm }: Deps, origin: string): Promise<boolean> {
  const isOurs = { origin, status: 'rejected', reason: { $in: ['denied_by_admin', 'expired'] } } as const
  return (await orm.em.fork().count(Peer, isOurs)) > 0
}

async function post(deps: Deps, { sourceOrigin: origin, status }: ApprovalRequest, secret: string): Promise<number> {
  const { method, path } = endpoints.peerDenied
  const reason = status === 'expired' ? 'expired' : 'denied_by_admin'
  const body = { origin: deps.config.publicAddress.origin, reason, message: messages[reason] }
  const message = { method, path, body, timeoutMs: policy.messageTimeoutMs }
  return (await tryExchange(sendSigned(deps, { origin, secret }, message)))?.answer.status ?? 0
}
