import { call, isSignedAnswer } from './calls.ts'
import { readFederationHeaders, requireSignature, takenSecrets } from './checks.ts'
import { textField } from './fields.ts'
import type { Instance } from './instance.ts'
import { learnInstanceId } from './peering.ts'
import { refused, signedReply } from './replies.ts'
import type { ReceivedRequest, Reply } from './replies.ts'

/** Any known peer but a revoked one is answered, pending ones too; nonces are not looked at. wire: 2.2, epoch */
export function answerEpoch(instance: Instance, request: ReceivedRequest): Reply {
  const headers = readFederationHeaders(request.headers)
  if (!headers) throw refused(400, 'Missing or invalid federation headers')
  const peer = instance.peers.get(headers.origin)
  if (!peer || peer.status === 'revoked') throw refused(403, 'Unknown or revoked peer')
  requireSignature(instance, request, { headers, secrets: takenSecrets(instance, peer) })
  return signedReply(instance, peer.secret, { instanceId: instance.instanceId })
}

export type Proof = { instanceId: string | null }

/** Null when the other side has not shown that it holds this secret. wire: 2.2, epoch */
export async function askEpoch(instance: Instance, origin: string, secret: string): Promise<Proof | null> {
  const request = { origin, method: 'POST', path: '/api/federation/epoch', body: {}, secret } as const
  const answer = await call(instance, { ...request, timeoutMs: instance.timeoutsMs.message })
  return isSignedAnswer(instance, answer, secret) ? { instanceId: textField(answer.body, 'instanceId') } : null
}

/** At start and every 15 minutes, of active peers whose instanceId is not known. wire: 2.2, epoch */
export async function askUnknownEpochs(instance: Instance): Promise<void> {
  const unknown = [...instance.peers.values()].filter((peer) => peer.status === 'active' && peer.instanceId === null)
  await Promise.all(
    unknown.map(async (peer) => {
      const proof = await askEpoch(instance, peer.origin, peer.secret)
      if (proof) learnInstanceId(peer, proof.instanceId)
    }),
  )
}
