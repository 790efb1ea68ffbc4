import { isReceiptGenuine } from '@gatehouse/auth'
import { endpoints, ownedSpaces, receiptKeysReply, signedReceipt } from '@gatehouse/contracts'
import type { deleteIdentitiesAtPeers, DeletionMode, FanoutResult } from '@gatehouse/contracts'
import { Peer, type PeerStatus } from '@gatehouse/domain'
import { OutboundFailure, type OutboundAnswer, type OutboundFailureKind } from '@gatehouse/outbound'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { jsonOf, messageOf, sendToPeer, type Message, type SigningPeer } from '../peers/exchange.ts'
import { hostOf, normalizeSignedOrigin } from '../peers/signature.ts'
import { policy } from '../policy.ts'

type DeletionCall = z.infer<typeof deleteIdentitiesAtPeers.request> & { requestId?: string | undefined }
type Results = z.infer<typeof deleteIdentitiesAtPeers.reply>['results']
type Needs = Pick<Deps, 'orm' | 'log' | 'metrics' | 'outbound' | 'clock' | 'random' | 'config'>
type Deletion = { homeUserId: string; mode: DeletionMode }

/** For a hundred peers, reading all columns takes longer than signing. */
const signingFields = ['origin', 'status', 'secret', 'nextSecret', 'previousSecret', 'previousSecretUntil'] as const
const waiting = { order: 'waiting' } as const
const unasked: FanoutResult = { success: false, error: 'unreachable', ...waiting }

/**
 * In parallel. Spellings of one origin share a request. A durable deletion asks an unreachable peer too, and waits for one
 * that needs attention. Spec: federation-identity/delete; Contract: 7, fan-out, Deletion orders.
 */
export async function deleteAtPeers(deps: Needs, call: DeletionCall): Promise<Results> {
  const { userId, origins, mode, durable, requestId } = call
  const normalized = origins.map((origin) => ({ origin, normal: normalizeSignedOrigin(origin) }))
  const peerOrigins = [...new Set(normalized.flatMap(({ normal }) => normal ?? []))]
  const statuses: PeerStatus[] = durable ? ['active', 'unreachable', 'needs_attention'] : ['active']
  const isAsked = { origin: { $in: peerOrigins }, status: { $in: statuses } }
  const peers = await deps.orm.em.fork().find(Peer, isAsked, { fields: signingFields })
  const body = { homeUserId: userId, homeInstance: hostOf(deps.config.publicAddress.origin), mode }
  const message = { endpoint: endpoints.deleteIdentity, body, timeoutMs: policy.fanoutTimeoutMs, requestId }
  // Redaction takes longer than the log line. These fields hold no secrets.
  const log = deps.log.child({ requestId, userId }, { redact: [] })
  const deleteAtOne = async (peer: (typeof peers)[number]) =>
    peer.status === 'needs_attention' ? unasked : await deleteAt({ ...deps, log }, peer, message, durable)
  const answers = new Map(await Promise.all(peers.map(async (peer) => [peer.origin, await deleteAtOne(peer)] as const)))
  const noPeer: FanoutResult = { success: false, error: 'no_active_peer' }
  return normalized.map(({ origin, normal = '' }) => {
    const result = answers.get(normal) ?? noPeer
    return { origin, result: durable ? result : withoutOrder(result) }
  })
}

function withoutOrder(result: FanoutResult): FanoutResult {
  if (result.success) return result
  const { order: _, ...failure } = result
  return failure
}

/** Never throws for a remote failure. */
async function deleteAt(deps: Needs, peer: SigningPeer, message: Message & { body: Deletion }, durable = false) {
  const result: FanoutResult = await sendToPeer(deps, peer, message).then(
    async ({ answer }) => {
      const read = readResult(answer)
      if (!read.success || !durable) return read
      return { ...read, ...(await readReceipt(deps, peer.origin, message.body, answer)) }
    },
    (error: unknown) => {
      if (!(error instanceof OutboundFailure)) throw error
      return readFailure(error.kind)
    },
  )
  const counted = ['owns_spaces', 'timeout', 'unreachable']
  const refusal = result.success ? 'success' : counted.find((error) => error === result.error)
  deps.metrics
    .counter('gatehouse_federation_fanout_total', 'Identity deletions at peers', ['result'])
    .inc({ result: refusal ?? 'refused' })
  deps.log.info({ origin: peer.origin, result }, 'identity deletion at a peer')
  return result
}

/** Without a genuine receipt of this deletion the peer has only acknowledged it. Contract: 7, Receipts. */
async function readReceipt({ outbound }: Needs, origin: string, deletion: Deletion, answer: OutboundAnswer) {
  const { homeUserId, mode } = deletion
  const signed = signedReceipt.safeParse(jsonOf(answer)).data
  const { receipt } = signed ?? {}
  if (!signed || receipt?.origin !== origin || receipt.homeUserId !== homeUserId || receipt.mode !== mode) return
  const url = `${origin}${endpoints.receiptKeys.path}`
  const published = await outbound.request({ method: 'GET', url, timeoutMs: policy.proofTimeoutMs }).then(
    (keysAnswer) => receiptKeysReply.safeParse(jsonOf(keysAnswer)).data?.keys ?? [],
    () => [],
  )
  const genuine = published.map((publicKey) => ({ ...signed, publicKey })).find(isReceiptGenuine)
  return genuine && { receipt: genuine }
}

/** They speak of the peering, of a limit or of a fault, and not of the identity. */
const noAnswers = [401, 403, 408, 429]

/**
 * Needs JSON with `success`: any web server may answer 200. Where the peer decided nothing the order waits. Spec:
 * federation-identity/delete; Contract: 7, fan-out, Deletion orders.
 */
export function readResult(answer: OutboundAnswer): FanoutResult {
  const json = jsonOf(answer)
  const { status } = answer
  if (status === 200 && json?.success === true) return { success: true }
  if (status === 409 && (json?.error === 'owns_spaces' || json?.ownedSpaces !== undefined)) {
    const spaces = ownedSpaces.safeParse(json.ownedSpaces)
    let bytesLeft = policy.ownedSpacesBytes
    const isFitting = (space: object) => (bytesLeft -= Buffer.byteLength(JSON.stringify(space)) + 1) >= 0
    return { success: false, error: 'owns_spaces', ownedSpaces: (spaces.data ?? []).filter(isFitting) }
  }
  const isDecided = json && status >= 400 && status < 500 && !noAnswers.includes(status)
  return { success: false, error: messageOf(answer), ...(!isDecided && waiting) }
}

const failures: Partial<Record<OutboundFailureKind, string>> = {
  timeout: 'timeout',
  redirect: 'The instance answered with a redirect',
  too_large: "The instance's answer was too long",
}

export function readFailure(kind: OutboundFailureKind): FanoutResult {
  return { success: false, error: failures[kind] ?? 'unreachable', ...waiting }
}
