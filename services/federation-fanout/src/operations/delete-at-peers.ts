import { endpoints, type deleteIdentitiesAtPeers, type FanoutResult } from '@gatehouse/contracts'
import { Peer } from '@gatehouse/domain'
import { OutboundFailure } from '@gatehouse/outbound'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { readFailure, readResult } from '../peers/read-result.ts'
import { sendToPeer, type Message, type SigningPeer } from '../peers/send-signed.ts'
import { hostOf, normalizeSignedOrigin } from '../peers/signature.ts'
import { policy } from '../policy.ts'

type Asked = z.infer<typeof deleteIdentitiesAtPeers.request> & { requestId?: string | undefined }
type Results = z.infer<typeof deleteIdentitiesAtPeers.reply>['results']
type Needs = Pick<Deps, 'orm' | 'log' | 'metrics' | 'outbound' | 'clock' | 'random' | 'config'>

/** For a hundred peers, reading all columns takes longer than signing. */
const signingFields = ['origin', 'secret', 'nextSecret', 'previousSecret', 'previousSecretUntil'] as const

/** In parallel. Spellings of one origin share a request. Spec: federation-identity/delete; Contract: 7, fan-out. */
export async function deleteAtPeers(deps: Needs, asked: Asked): Promise<Results> {
  const { userId, origins, mode, requestId } = asked
  const normalized = origins.map((origin) => ({ origin, normal: normalizeSignedOrigin(origin) }))
  const named = [...new Set(normalized.flatMap(({ normal }) => normal ?? []))]
  const isAsked = { origin: { $in: named }, status: 'active' } as const
  const peers = await deps.orm.em.fork().find(Peer, isAsked, { fields: signingFields })
  const body = { homeUserId: userId, homeInstance: hostOf(deps.config.publicAddress.origin), mode }
  const { method, path } = endpoints.deleteIdentity
  const message = { method, path, body, timeoutMs: policy.fanoutTimeoutMs, requestId }
  // Redaction takes longer than the log line. These fields hold no secrets.
  const log = deps.log.child({ requestId, userId }, { redact: [] })
  const answers = new Map(
    await Promise.all(
      peers.map(async (peer) => [peer.origin, await deleteAt({ ...deps, log }, peer, message)] as const),
    ),
  )
  const noPeer: FanoutResult = { success: false, error: 'no_active_peer' }
  return normalized.map(({ origin, normal = '' }) => ({ origin, result: answers.get(normal) ?? noPeer }))
}

/** Never throws for a remote failure. */
async function deleteAt(deps: Needs, peer: SigningPeer, message: Message): Promise<FanoutResult> {
  const result = await sendToPeer(deps, peer, message).then(
    ({ answer }) => readResult(answer),
    (error: unknown) => {
      if (!(error instanceof OutboundFailure)) throw error
      return readFailure(error.kind)
    },
  )
  countResult(deps, result)
  deps.log.info({ origin: peer.origin, result }, 'identity deletion at a peer')
  return result
}

function countResult({ metrics }: Pick<Deps, 'metrics'>, result: FanoutResult): void {
  const known = ['owns_spaces', 'timeout', 'unreachable']
  const refusal = result.success ? 'success' : known.find((error) => error === result.error)
  metrics
    .counter('gatehouse_federation_fanout_total', 'Identity deletions at peers', ['result'])
    .inc({ result: refusal ?? 'refused' })
}
