import { type FanoutMode, type FanoutResult, endpoints } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import { Peer, User, assertCallerCurrent, type ActingCaller } from '@gatehouse/domain'
import { OutboundFailure } from '@gatehouse/outbound'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { forgetInstances } from '../fan-out/forget-instances.ts'
import { readFailure, readResult } from '../fan-out/read-result.ts'
import { sendToPeer, type Message, type SigningPeer } from '../peers/send-signed.ts'
import { hostOf, normalizeSignedOrigin } from '../peers/signature.ts'
import { policy } from '../policy.ts'

type Input = { caller: ActingCaller; origins: string[]; mode: FanoutMode; requestId?: string | undefined }
type Needs = Pick<Deps, 'orm' | 'bus' | 'log' | 'metrics' | 'outbound' | 'clock' | 'random' | 'config'>

/**
 * In parallel. Results stand under each origin as spelled. Spellings of one origin share a request. Throws not_at_home,
 * and as `assertCallerCurrent` does. Spec: federation-identity/delete; Contract: 7, fan-out.
 */
export async function deleteRemoteIdentities(deps: Needs, input: Input): Promise<Record<string, FanoutResult>> {
  const { userId } = input.caller
  await runTransaction(deps.orm, (em) => assertMayDelete(em, input.caller))
  const spelled = new Map(input.origins.map((origin) => [origin, normalizeSignedOrigin(origin)]))
  const origins = [...new Set(spelled.values())].filter((origin) => origin !== undefined)
  const results = input.mode === 'leave' ? leaveAll(origins) : await deleteAll(deps, origins, input)
  const gone = origins.filter((origin) => results.get(origin)?.success)
  await forgetInstances(deps, { userId, origins: gone, requestId: input.requestId })
  const noPeer: FanoutResult = { success: false, error: 'no_active_peer' }
  return Object.fromEntries([...spelled].map(([text, origin]) => [text, results.get(origin ?? '') ?? noPeer]))
}

/** Sent requests cannot be taken back. Design: invariant 1. */
async function assertMayDelete(em: EntityManager, caller: ActingCaller): Promise<void> {
  await assertCallerCurrent(em, caller)
  const user = await em.findOne(User, { id: caller.userId, homeInstance: null }, { fields: ['id'] })
  if (!user) throw refuse.not_at_home()
}

/** Sends nothing: the user only forgets the instance. federation-wire.md 3. */
function leaveAll(origins: readonly string[]): Map<string, FanoutResult> {
  return new Map(origins.map((origin) => [origin, { success: true }]))
}

/** For a hundred peers, reading all columns takes longer than signing. */
const signingFields = ['origin', 'secret', 'nextSecret', 'previousSecret', 'previousSecretUntil'] as const

async function deleteAll(deps: Needs, origins: string[], input: Input): Promise<Map<string, FanoutResult>> {
  const isAsked = { origin: { $in: origins }, status: 'active' } as const
  const peers = await deps.orm.em.fork().find(Peer, isAsked, { fields: signingFields })
  // Redaction takes longer than the log line. These fields hold no secrets.
  const resultLog = deps.log.child({}, { redact: [] })
  const sending = { ...deps, resultLog }
  const message = deletionMessage(deps, input)
  const results = peers.map(
    async (peer) => [peer.origin, await deleteAt(sending, peer, { ...input, message })] as const,
  )
  return new Map(await Promise.all(results))
}

function deletionMessage({ config }: Pick<Deps, 'config'>, { caller: { userId }, mode, requestId }: Input): Message {
  const { method, path } = endpoints.deleteIdentity
  const body = { homeUserId: userId, homeInstance: hostOf(config.publicAddress.origin), mode }
  return { method, path, body, timeoutMs: policy.fanoutTimeoutMs, requestId }
}

/** Never throws for a remote failure. */
async function deleteAt(
  deps: Needs & { resultLog: Needs['log'] },
  peer: SigningPeer,
  { caller: { userId }, requestId, message }: Input & { message: Message },
): Promise<FanoutResult> {
  const result = await sendToPeer(deps, peer, message).then(
    ({ answer }) => readResult(answer),
    (error: unknown) => {
      if (!(error instanceof OutboundFailure)) throw error
      return readFailure(error.kind)
    },
  )
  countResult(deps, result)
  deps.resultLog.info({ requestId, userId, origin: peer.origin, result }, 'identity deletion at a peer')
  return result
}

function countResult({ metrics }: Pick<Deps, 'metrics'>, result: FanoutResult): void {
  const known = ['owns_spaces', 'timeout', 'unreachable']
  const refusal = result.success ? 'success' : known.find((error) => error === result.error)
  metrics
    .counter('gatehouse_federation_fanout_total', 'Identity deletions at peers', ['result'])
    .inc({ result: refusal ?? 'refused' })
}
