import { OutboundFailure, type OutboundAnswer } from '@gatehouse/outbound'
import type { Peer } from '@gatehouse/domain'
import { requestIdHeader } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { readSignature, signBody, verifySignature } from './signature.ts'

export type Message = {
  endpoint: { method: 'POST' | 'DELETE'; path: string }
  body: object
  timeoutMs: number
  requestId?: string | undefined
}
export type SigningPeer = Pick<Peer, 'origin' | 'secret' | 'secretsAt'>
export type SignedExchange = { answer: OutboundAnswer; nonce: string }
export type SendDeps = Pick<Deps, 'outbound' | 'clock' | 'random' | 'config'>

/** Throws OutboundFailure. Contract: 7, signatures. */
export async function sendSigned(
  { outbound, clock, random, config }: SendDeps,
  { origin, secret }: Pick<Peer, 'origin' | 'secret'>,
  { endpoint: { method, path }, timeoutMs, requestId, ...message }: Message,
): Promise<SignedExchange> {
  const body = JSON.stringify(message.body)
  const nonce = random.uuid()
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json',
    ...(requestId && { [requestIdHeader]: requestId }),
    ...signBody({ secret, origin: config.publicAddress.origin, body, timestamp: clock.now(), nonce }),
  }
  return { answer: await outbound.request({ method, url: `${origin}${path}`, headers, body, timeoutMs }), nonce }
}

/** After a 401 it tries the other secret. Throws OutboundFailure. Contract: 7, fan-out; protocol.md 2.8. */
export async function sendToPeer(deps: SendDeps, peer: SigningPeer, message: Message): Promise<SignedExchange> {
  const startedAt = performance.now()
  const [first = peer.secret, second] = peer.secretsAt(deps.clock.now())
  const exchange = await sendSigned(deps, { origin: peer.origin, secret: first }, message)
  if (exchange.answer.status !== 401 || second === undefined) return exchange
  const timeoutMs = Math.max(0, message.timeoutMs - (performance.now() - startedAt))
  return await sendSigned(deps, { origin: peer.origin, secret: second }, { ...message, timeoutMs })
}

/** Undefined: no answer came. */
export async function tryExchange<T>(sending: Promise<T>): Promise<T | undefined> {
  try {
    return await sending
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    return undefined
  }
}

export const isSuccess = (status: number): boolean => status >= 200 && status <= 299

/** An echo of the question is no answer. `stale`: right signature, wrong clock. Contract: 7, epoch answers. */
export function verifySignedAnswer({ answer, nonce }: SignedExchange, secrets: readonly string[], now: number) {
  const signed = readSignature(answer.headers)
  if (!isSuccess(answer.status) || !signed || signed.nonce === nonce) return 'bad'
  return verifySignature({ secrets, body: answer.body, signed, now }).verdict
}

/** Undefined: no JSON object. */
export function jsonOf({ body }: Pick<OutboundAnswer, 'body'>): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** One line, cut. Otherwise the status. */
export function messageOf(answer: OutboundAnswer): string {
  const json = jsonOf(answer)
  const said = [json?.error, json?.message].find((text) => typeof text === 'string' && text.trim() !== '')
  return said === undefined ? `The instance answered with status ${answer.status}` : readableText(said as string)
}

export function readableText(text: string): string {
  const line = text.toWellFormed().replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
  return [...line.trim()].slice(0, policy.remoteTextMax).join('')
}
