import { endpoints, epochReply } from '@gatehouse/contracts'
import { OutboundFailure } from '@gatehouse/outbound'
import { loadInstanceSettings } from '@gatehouse/domain'
import type { Refusal } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { jsonOf } from '../peers/remote-json.ts'
import { sendSigned, verifySignedAnswer, type SignedExchange } from '../peers/send-signed.ts'
import { signatureWindowMs } from '../peers/signature.ts'
import { policy } from '../policy.ts'

/** `unreachable` and `clock` may pass; `wrong` will not: the instance holds another secret, or is none. */
export type Proof = { proven: true; instanceId: string } | { proven: false; reason: 'unreachable' | 'clock' | 'wrong' }

export type ProofDeps = Pick<Deps, 'outbound' | 'clock' | 'random' | 'config' | 'log' | 'orm'>
type Question = {
  origin: string
  secrets: readonly string[]
  timeoutMs?: number
  requestId?: string | undefined
}

/**
 * Whether the instance at an origin holds one of the secrets: its answer to a signed question has to be signed with it.
 * There are two while a rotation runs, of which it may know only one. Contract: 7, handshake; federation-wire.md 2.8.
 */
export async function proveSecret(deps: ProofDeps, question: Question): Promise<Proof> {
  let proof: Proof = { proven: false, reason: 'wrong' }
  for (const secret of question.secrets) {
    proof = await proveOne(deps, { ...question, secret })
    if (proof.proven || proof.reason === 'unreachable') return proof
  }
  return proof
}

async function proveOne(deps: ProofDeps, given: Question & { secret: string }): Promise<Proof> {
  const { origin, secret, secrets, timeoutMs = policy.proofTimeoutMs, requestId } = given
  const { method, path } = endpoints.epoch
  const message = { method, path, body: {}, timeoutMs, requestId }
  const { instanceId: ownId } = await loadInstanceSettings(deps.orm.em.fork())
  try {
    const exchange = await sendSigned(deps, { origin, secret }, message)
    const proof = verifyEpoch(exchange, { secrets, now: deps.clock.now(), ownId })
    if (!proof.proven) deps.log.info({ requestId, origin, reason: proof.reason }, 'secret not proven')
    return proof
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    deps.log.info({ requestId, origin, reason: error.kind }, 'secret not proven')
    return { proven: false, reason: 'unreachable' }
  }
}

/** `now` in milliseconds; `ownId`: the instanceId of this instance, which no other one has. */
export function verifyEpoch(
  exchange: SignedExchange,
  { secrets, now, ownId }: { secrets: readonly string[]; now: number; ownId: string },
): Proof {
  const { answer } = exchange
  if (answer.status < 200 || answer.status > 299) return { proven: false, reason: reasonOf(answer, now) }
  const verdict = verifySignedAnswer(exchange, secrets, now)
  if (verdict !== 'ok') return { proven: false, reason: verdict === 'stale' ? 'clock' : 'wrong' }
  const said = epochReply.safeParse(jsonOf(answer))
  if (!said.success || said.data.instanceId === ownId) return { proven: false, reason: 'wrong' }
  return { proven: true, instanceId: said.data.instanceId }
}

/**
 * Existing instances answer 401 alike to a wrong signature and to a clock that is too far off; the date of the answer
 * tells which. 403 is an origin that they do not know; anything else is no answer to the question.
 */
function reasonOf({ status, headers }: SignedExchange['answer'], now: number): 'unreachable' | 'clock' | 'wrong' {
  if (status === 403) return 'wrong'
  if (status !== 401) return 'unreachable'
  const theirs = Date.parse(headers.date ?? '')
  return Math.abs(now - theirs) > signatureWindowMs ? 'clock' : 'wrong'
}

/** What an admin is told when the proof failed. */
export function unproven(reason: (Proof & { proven: false })['reason']): Refusal {
  if (reason === 'unreachable') return refuse.remote_unreachable({ headers: { 'Retry-After': '5' } })
  return reason === 'clock' ? refuse.remote_clock() : refuse.remote_unproven()
}
