import type { OutboundAnswer } from '@gatehouse/outbound'
import { requestIdHeader } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { signBody } from './signature.ts'

export type Secret = { origin: string; secret: string }

type Message = {
  method: 'POST' | 'DELETE'
  path: string
  body: object
  timeoutMs: number
  requestId?: string | undefined
}

/** Sends a JSON body to another instance, signed with the shared secret. Throws OutboundFailure. Contract: 7. */
export async function sendSigned(
  deps: Pick<Deps, 'outbound' | 'clock' | 'random' | 'config'>,
  peer: Secret,
  message: Message,
): Promise<OutboundAnswer> {
  const body = JSON.stringify(message.body)
  const signature = signBody({
    secret: peer.secret,
    origin: deps.config.publicAddress.origin,
    body,
    timestamp: deps.clock.now(),
    nonce: deps.random.uuid(),
  })
  return await deps.outbound.request({
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
}
