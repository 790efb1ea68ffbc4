import type { Peer } from '@gatehouse/domain'
import { endpoints } from '@gatehouse/contracts'
import { changeRows } from '@gatehouse/database'
import { OutboundFailure } from '@gatehouse/outbound'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { parkReset } from '../handshake/activate.ts'
import { jsonOf } from '../peers/remote-json.ts'
import { withPeer } from '../peers/with-peer.ts'
import { delayAfter, policy } from '../policy.ts'

/** An answer activates it, another instanceId parks it. federation-wire.md 2.6, 2.7. */
export async function probePeer(deps: Deps, probed: Peer, requestId?: string): Promise<void> {
  const found = await readInstance(deps, probed.origin)
  const take = async (em: EntityManager, peer: Peer | null) => {
    if (peer?.status !== 'unreachable') return
    const now = new Date(deps.clock.now())
    if (!found) {
      peer.nextAttemptAt = new Date(now.getTime() + delayAfter(policy.probeDelaysMs, peer.attempts))
      peer.attempts += 1
      return
    }
    if (isOtherInstance(peer, found.instanceId)) return await parkReset(em, peer)
    peer.reconnect()
    const sql = 'update federation_deliveries set attempts = 0, next_attempt_at = ? where peer_id = ?'
    await changeRows(em, sql, [now, peer.id])
  }
  await withPeer(deps, probed.origin, take, { requestId })
}

/** Only signed messages and our own probes count. */
export function isOtherInstance({ instanceId }: Pick<Peer, 'instanceId'>, seen: string | null | undefined): boolean {
  return !!instanceId && !!seen && instanceId !== seen
}

export async function readInstance(
  { outbound }: Pick<Deps, 'outbound'>,
  origin: string,
): Promise<{ instanceId: string | null } | undefined> {
  const { method, path } = endpoints.instanceInfo
  try {
    const answer = await outbound.request({ method, url: `${origin}${path}`, timeoutMs: policy.messageTimeoutMs })
    if (answer.status < 200 || answer.status > 299) return undefined
    const instanceId = jsonOf(answer)?.instanceId
    return { instanceId: typeof instanceId === 'string' ? instanceId : null }
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    return undefined
  }
}
