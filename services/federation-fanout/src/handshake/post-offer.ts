import { endpoints, type acceptPeerBody } from '@gatehouse/contracts'
import { OutboundFailure, type OutboundAnswer } from '@gatehouse/outbound'
import { requestIdHeader } from '@gatehouse/service-kit'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import type { Secret } from '../peers/send-signed.ts'
import { jsonOf, messageOf } from '../peers/remote-json.ts'
import { policy } from '../policy.ts'

export type OfferAnswer =
  | { kind: 'accepted'; instanceName: string | null }
  | { kind: 'queued' }
  | { kind: 'conflict'; code: string | null; message: string }
  | { kind: 'refused'; code: string | null; message: string }
  | { kind: 'unreachable' }
  | { kind: 'forbidden' }

type Introduction = { instanceName: string; instanceId: string; requestId?: string | undefined }

/** Offers a secret to another instance and reads what it makes of it. Contract: 7, peer/accept. */
export async function postOffer(
  { outbound, config }: Pick<Deps, 'outbound' | 'config'>,
  { origin, secret }: Secret,
  { instanceName, instanceId, requestId }: Introduction,
): Promise<OfferAnswer> {
  const offer: z.input<typeof acceptPeerBody> = {
    sourceOrigin: config.publicAddress.origin,
    hmacSecret: secret,
    instanceName,
    instanceId,
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

/** Only JSON that says `accepted` is an acceptance: any web server may answer 200 with a page. */
export function readOfferAnswer(answer: OutboundAnswer): OfferAnswer {
  const json = jsonOf(answer)
  const text = (name: string) => (typeof json?.[name] === 'string' ? json[name] : null)
  if (answer.status === 202 && json) return { kind: 'queued' }
  if (answer.status === 200 && json?.accepted === true) return { kind: 'accepted', instanceName: text('instanceName') }
  return { kind: answer.status === 409 ? 'conflict' : 'refused', code: text('code'), message: messageOf(answer) }
}
