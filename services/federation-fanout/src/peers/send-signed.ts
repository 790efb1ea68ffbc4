import { OutboundFailure, type OutboundAnswer } from '@gatehouse/outbound'
import type { Peer } from '@gatehouse/domain'
import { requestIdHeader } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { readSignature, signBody, verifySignature } from './signature.ts'

export type Secret = { origin: string; secret: string }

export type Message = {
  method: 'POST' | 'DELETE'
  path: string
  body: object
  timeoutMs: number
  requestId?: string | undefined
}

export type SigningPeer = Pick<Peer, 'origin' | 'secret' | 'secretsAt'>

export type SignedExchange = { answer: OutboundAnswer; nonce: string }
export type SendDeps = Pick<Deps, 'outbound' | 'clock' | 'random' | 'config'>

/** Throws OutboundFailure. Contract: 7. */
export async function sendSigned(deps: SendDeps, peer: Secret, message: Message): Promise<SignedExchange> {
  const body = JSON.stringify(message.body)
  const nonce = deps.random.uuid()
  const signature = signBody({
    secret: peer.secret,
    origin: deps.config.publicAddress.origin,
    body,
    timestamp: deps.clock.now(),
    nonce,
  })
  const answer = await deps.outbound.request({
    method: message.method,
    url: `${peer.origin}${message.path}`,
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json',
      ...(message.requestId && { [requestIdHeader]: message.requestId }),
      ...signature,
    },
    body,
    timeoutMs: message.timeoutMs,
  })
  return { answer, nonce }
}

/**
 * After a 401 it tries the other secret. Throws OutboundFailure. Contract: 7, fan-out; federation-wire.md 2.8, advice.
 */
export async function sendToPeer(deps: SendDeps, peer: SigningPeer, message: Message): Promise<SignedExchange> {
  const startedAt = performance.now()
  const [first = peer.secret, second] = peer.secretsAt(deps.clock.now())
  const exchange = await sendSigned(deps, { origin: peer.origin, secret: first }, message)
  if (exchange.answer.status !== 401 || second === undefined) return exchange
  const timeoutMs = Math.max(0, message.timeoutMs - (performance.now() - startedAt))
  return await sendSigned(deps, { origin: peer.origin, secret: second }, { ...message, timeoutMs })
}

/** Undefined: no answer came. */
export async function tryExchange(sending: Promise<SignedExchange>): Promise<SignedExchange | undefined> {
  try {
    return await sending
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    return undefined
  }
}

/** An echo of the question is no answer. `stale`: right signature, wrong clock. Contract: 7. */
export function verifySignedAnswer(
  { answer, nonce }: SignedExchange,
  secrets: readonly string[],
  now: number,
): 'ok' | 'stale' | 'bad' {
  const signed = readSignature(answer.headers)
  if (answer.status < 200 || answer.status > 299 || !signed || signed.nonce === nonce) return 'bad'
  return verifySignature({ secrets, body: answer.body, signed, now }).verdict
}
