import { endpoints } from '@gatehouse/contracts'
import { loadInstanceSettings, type Peer } from '@gatehouse/domain'
import { OutboundFailure, type OutboundAnswer } from '@gatehouse/outbound'
import { requestIdHeader } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { jsonOf, messageOf } from '../peers/remote-json.ts'
import { policy } from '../policy.ts'

export type OfferAnswer =
  | { kind: 'accepted'; instanceName: string | null }
  | { kind: 'queued'; approvalToken: string | null }
  /** Its admin must reset our peer, unless the proof holds. */
  | { kind: 'exists'; message: string }
  | { kind: 'final'; message: string }
  | { kind: 'refused'; message: string }
  | { kind: 'unreachable' }
  | { kind: 'forbidden' }

/** Contract: 7, peer/accept. */
export async function postOffer(
  { outbound, config, orm }: Pick<Deps, 'outbound' | 'config' | 'orm'>,
  { origin, secret, presentedToken }: Pick<Peer, 'origin' | 'secret' | 'presentedToken'>,
  requestId?: string,
): Promise<OfferAnswer> {
  const { instanceName, instanceId } = await loadInstanceSettings(orm.em.fork())
  const offer = {
    sourceOrigin: config.publicAddress.origin,
    hmacSecret: secret,
    instanceName,
    instanceId,
    ...(presentedToken && { approvalToken: presentedToken }),
  }
  const headers = { 'Content-Type': 'application/json', ...(requestId && { [requestIdHeader]: requestId }) }
  const { method, path } = endpoints.acceptPeer
  const request = { method, url: `${origin}${path}`, headers, body: JSON.stringify(offer) }
  try {
    return readOfferAnswer(await outbound.request({ ...request, timeoutMs: policy.offerTimeoutMs }))
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    const refused = error.kind === 'forbidden_address' || error.kind === 'invalid_url'
    return { kind: refused ? 'forbidden' : 'unreachable' }
  }
}

/** federation-wire.md 2.2, 2.3. A 2xx is only a hint, the proof decides. Any web server may answer without JSON. */
export function readOfferAnswer(answer: OutboundAnswer): OfferAnswer {
  const json = jsonOf(answer)
  const text = (name: string) => (typeof json?.[name] === 'string' ? json[name] : null)
  const { status } = answer
  if (status >= 200 && status <= 299 && !json) return { kind: 'refused', message: 'It is no instance' }
  if (status === 202) return { kind: 'queued', approvalToken: text('approvalToken') }
  if (status >= 200 && status <= 299) return { kind: 'accepted', instanceName: text('instanceName') }
  const message = messageOf(answer)
  if (status === 409) return { kind: 'exists', message }
  if (status === 403 && text('code') === 'PEERING_REQUIRES_APPROVAL') return { kind: 'final', message }
  return status === 408 || status === 429 || status >= 500 ? { kind: 'unreachable' } : { kind: 'refused', message }
}
