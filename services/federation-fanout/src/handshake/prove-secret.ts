import { endpoints, epochReply } from '@gatehouse/contracts'
import { loadInstanceSettings } from '@gatehouse/database'
import { OutboundFailure, type OutboundAnswer } from '@gatehouse/outbound'
import type { Deps } from '../deps.ts'
import { isSuccess, jsonOf, sendSigned, verifySignedAnswer, type SendDeps } from '../peers/exchange.ts'
import type { PeerDeps } from '../peers/with-peer.ts'
import { policy, signatureWindowMs } from '../policy.ts'

/** `unreachable` and `clock` may pass, `wrong` will not. */
export type Unproven = { proven: false; reason: 'unreachable' | 'clock' | 'wrong' }
export type Proof = { proven: true; instanceId: string } | Unproven

export type ProofDeps = SendDeps & Pick<Deps, 'log' | 'orm'>
/** Of what proves an origin and changes its peer. */
export type HandshakeDeps = ProofDeps & PeerDeps
type Question = { origin: string; secrets: readonly string[]; endsAt?: number; requestId?: string | undefined }

/** The answer must be signed with one of the secrets. Contract: 7, epoch answers; protocol.md 2.8. */
export async function proveSecret(deps: ProofDeps, question: Question): Promise<Proof> {
  let proof: Proof = { proven: false, reason: 'wrong' }
  for (const secret of question.secrets) {
    proof = await proveOne(deps, { ...question, secret })
    if (proof.proven || proof.reason === 'unreachable') return proof
  }
  return proof
}

/** Our own instanceId is refused. */
async function proveOne(deps: ProofDeps, question: Question & { secret: string }): Promise<Proof> {
  const { origin, secret, secrets, endsAt = performance.now() + policy.proofTimeoutMs, requestId } = question
  const notProven = (reason: Unproven['reason'], logged: string = reason): Unproven => {
    deps.log.info({ requestId, origin, reason: logged }, 'secret not proven')
    return { proven: false, reason }
  }
  const { instanceId: ownId } = await loadInstanceSettings(deps.orm.em.fork())
  const message = { endpoint: endpoints.epoch, body: {}, timeoutMs: Math.max(0, endsAt - performance.now()), requestId }
  try {
    const exchange = await sendSigned(deps, { origin, secret }, message)
    const { answer } = exchange
    const now = deps.clock.now()
    if (!isSuccess(answer.status)) return notProven(reasonOf(answer, now))
    const verdict = verifySignedAnswer(exchange, secrets, now)
    if (verdict !== 'ok') return notProven(verdict === 'stale' ? 'clock' : 'wrong')
    const { data } = epochReply.safeParse(jsonOf(answer))
    return data && data.instanceId !== ownId ? { proven: true, instanceId: data.instanceId } : notProven('wrong')
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    return notProven('unreachable', error.kind)
  }
}

/** A 401 means a wrong signature or clock: the date tells which. A 403 means an unknown origin. */
function reasonOf({ status, headers }: OutboundAnswer, now: number): Unproven['reason'] {
  if (status === 403) return 'wrong'
  if (status !== 401) return 'unreachable'
  const theirs = Date.parse(headers.date ?? '')
  return Math.abs(now - theirs) > signatureWindowMs ? 'clock' : 'wrong'
}
