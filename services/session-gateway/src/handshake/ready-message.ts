import type { ReadyMessage } from '@gatehouse/contracts'
import { sanitizeUser } from '@gatehouse/domain'
import { version } from '@gatehouse/service-kit'
import type { ConnectedUser } from '../presence/presence-reconciler.ts'
import { emptyParts, type CollectedParts } from '../upstreams/ready-parts.ts'
import type { PeeringSummary } from './peering-summary.ts'

/** `presences` is shared and never copied: it is most of a large message. Contract: 6, `ready`. */
export function readyMessage(
  { snapshot, visible }: ConnectedUser,
  { pendingApprovalCount, ...peerOrigins }: PeeringSummary,
  { sessionId, now, parts }: { sessionId: string; now: number; parts: CollectedParts | undefined },
): Buffer[] {
  const { user, instanceName, instanceId } = snapshot
  const message: Omit<ReadyMessage, 'presences'> = {
    type: 'ready',
    user: { ...sanitizeUser(user, true), status: 'online' },
    sessionId,
    serverTime: now,
    instance: { name: instanceName, instanceId, version },
    ...peerOrigins,
    ...(user.isAdmin && { pendingApprovalCount }),
    ...emptyParts,
    ...parts?.fields,
    ...(parts && parts.incomplete.length > 0 && { incomplete: [...parts.incomplete] }),
  }
  const { shared, others } = visible
  const separator = shared.length > 0 && others.length > 0 ? ',' : ''
  const head = Buffer.from(`${JSON.stringify(message).slice(0, -1)},"presences":{`)
  return [head, shared, Buffer.concat([Buffer.from(separator), others, Buffer.from('}}')])]
}
