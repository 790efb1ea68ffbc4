import { endpoints, epochReply } from '@gatehouse/contracts'
import { OutboundFailure } from '@gatehouse/outbound'
import { loadInstanceSettings } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { isSuccess, jsonOf, sendSigned, verifySignedAnswer, type SignedExchange } from '../peers/exchange.ts'
import { signatureWindowMs } from '../peers/signature.ts'
import { policy } from '../policy.ts'

/** `unreachable` and `clock` may pass, `wrong` will not. */
export type Proof = { proven: true; instanceId: string } | { proven: false; reason: 'unreachable' | 'clock' | 'wrong' }

type ProofDeps = Pick<Deps, 'outbound' | 'clock' | 'random' | 'config' | 'log' | 'orm'>
type Question = { origin: string; secrets: readonly string[]; timeoutMs?: number; requestId?: string | undefined }

/** The answer must be signed with one of the secrets. Contract: 7, handshake; federation-wire.md 2.8. */
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
  const { instanceId: ownId } = await loadInstanceSettings(deps.orm.em.fork())
  const message = { endpoint: endpoints.epoch, body: {}, timeoutMs, requestId }
  try {
    const exchange = await sendSigned(deps, { origin, secret }, message)
    const proof = readProof(exchange, { secrets, now: deps.clock.now(), ownId })
    if (!proof.proven) deps.log.info({ requestId, origin, reason: proof.reason }, 'secret not proven')
    return proof
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    deps.log.info({ requestId, origin, reason: error.kind }, 'secret not proven')
    return { proven: false, reason: 'unreachable' }
  }
}

/** Our own instanceId, `ownId`, is refused. */
function readProof(
  exchange: SignedExchange,
  { secrets, now, ownId }: { secrets: readonly string[]; now: number; ownId: string },
): Proof {
  const { answer } = exchange
  if (!isSuccess(answer.status)) return { proven: false, reason: reasonOf(answer, now) }
  const verdict = verifySignedAnswer(exchange, secrets, now)
  if (verdict !== 'ok') return { proven: false, reason: verdict === 'stale' ? 'clock' : 'wrong' }
  const { data } = epochReply.safeParse(jsonOf(answer))
  if (!data || data.instanceId === ownId) return { proven: false, reason: 'wrong' }
  return { proven: true, instanceId: data.instanceId }
}

/** A 401 means a wrong signature or clock: the date tells which. A 403 means an unknown origin. */
function reasonOf({ status, headers }: SignedExchange['answer'], now: number): 'unreachable' | 'clock' | 'wrong' {
  if (status === 403) return 'wrong'
  if (status !== 401) return 'unreachable'
  const theirs = Date.parse(headers.date ?? '')
  return Math.abs(now - theirs) > signatureWindowMs ? 'clock' : 'wrong'
}
