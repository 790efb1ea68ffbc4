import { endpoints, epochReply } from '@gatehouse/contracts'
import { OutboundFailure, type OutboundAnswer } from '@gatehouse/outbound'
import type { Refusal } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { jsonOf } from '../peers/remote-json.ts'
import { sendSigned, type Secret } from '../peers/send-signed.ts'
import { readSignature, verifySignature } from '../peers/signature.ts'
import { policy } from '../policy.ts'

export type Proof =
  { proven: true; instanceId: string } | { proven: false; reason: 'unreachable' | 'clock' | 'unsigned' }

type Needs = Pick<Deps, 'outbound' | 'clock' | 'random' | 'config' | 'log'>

/**
 * Whether the instance at an origin holds a secret: its answer to a signed question has to be signed with it, in its
 * own name. Contract: 7, handshake.
 */
export async function proveSecret(deps: Needs, peer: Secret, requestId?: string): Promise<Proof> {
  const { method, path } = endpoints.epoch
  try {
    const message = { method, path, body: {}, timeoutMs: policy.proofTimeoutMs, requestId }
    const proof = verifyAnswer(await sendSigned(deps, peer, message), peer, deps.clock.now())
    if (!proof.proven) deps.log.info({ requestId, origin: peer.origin, reason: proof.reason }, 'secret not proven')
    return proof
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    deps.log.info({ requestId, origin: peer.origin, reason: error.kind }, 'secret not proven')
    return { proven: false, reason: 'unreachable' }
  }
}

/**
 * `now` in milliseconds. The body must say more than the question did: whatever only sends back what it was sent would
 * send a signature that is right.
 */
export function verifyAnswer(answer: OutboundAnswer, peer: Secret, now: number): Proof {
  const signed = readSignature(answer.headers)
  const said = epochReply.safeParse(jsonOf(answer))
  if (answer.status !== 200 || signed?.origin !== peer.origin || !said.success) {
    return { proven: false, reason: 'unsigned' }
  }
  const verdict = verifySignature({ secret: peer.secret, body: answer.body, signed, now })
  if (verdict === 'ok') return { proven: true, instanceId: said.data.instanceId }
  return { proven: false, reason: verdict === 'stale' ? 'clock' : 'unsigned' }
}

/** What an admin is told when the proof failed. */
export function unproven(reason: (Proof & { proven: false })['reason']): Refusal {
  if (reason === 'unreachable') return refuse.remote_unreachable({ headers: { 'Retry-After': '5' } })
  return reason === 'clock' ? refuse.remote_clock() : refuse.remote_unproven()
}
