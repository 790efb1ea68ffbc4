import { Peer } from '@gatehouse/domain'
import { OutboundFailure } from '@gatehouse/outbound'
import { commonErrors } from '@gatehouse/runtime'
import { endpoints } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { newSecret } from '../peers/new-secret.ts'
import { sendToPeer } from '../peers/send-signed.ts'
import { withPeer } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'

export type Rotation = { peer: Peer; isDone: boolean }

/**
 * Gives an active peer a new secret. It is stored before it is sent: when the answer is lost, messages signed with it
 * count, and the next attempt sends the same one. Throws not_found, peer_state. federation-wire.md 2.8.
 */
export async function rotateSecret(deps: Deps, { id }: { id: string }): Promise<Rotation> {
  const known = await deps.orm.em.fork().findOne(Peer, { id })
  if (!known) throw commonErrors.not_found()
  const { origin } = known
  const { peer, secret, isRepeated } = await withPeer(deps, origin, async (_em, current) => {
    if (!current?.isActive()) throw refuse.peer_state()
    const repeated = !!current.nextSecret
    const offered = current.nextSecret ?? newSecret(deps)
    current.nextSecret = offered
    current.nextRotationAt = new Date(deps.clock.now() + policy.rotationRetryMs)
    return { peer: current, secret: offered, isRepeated: repeated }
  })
  const status = await post(deps, peer, secret)
  const rotated = await withPeer(deps, origin, async (_em, current) => {
    if (!current || current.nextSecret !== secret) return current
    const now = deps.clock.now()
    const isTaken = status >= 200 && status <= 299
    // A conflict at a repeated attempt: the peer may be at this very rotation since the attempt whose answer was lost.
    const isUnknown = status === 0 || status >= 500 || (isRepeated && (status === 409 || status === 401))
    if (isTaken) current.takeSecret(secret, new Date(now + policy.rotationOverlapMs), new Date(now))
    else if (!isUnknown) current.nextSecret = null
    return current
  })
  deps.log.info({ origin, status }, 'secret rotation sent')
  return { peer: rotated ?? peer, isDone: rotated?.secret === secret }
}

/** The status of the answer, 0 when there was none. */
async function post(deps: Deps, peer: Peer, secret: string): Promise<number> {
  const { method, path } = endpoints.rotatePeerSecret
  try {
    const message = { method, path, body: { newSecret: secret }, timeoutMs: policy.messageTimeoutMs }
    return (await sendToPeer(deps, peer, message)).answer.status
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    return 0
  }
}
