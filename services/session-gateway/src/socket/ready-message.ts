import type { ReadyMessage } from '@gatehouse/contracts'
import { sanitizeUser } from '@gatehouse/domain'
import { version } from '@gatehouse/service-kit'
import type { PeeringSummary } from '../federation/peering-summary.ts'
import type { ConnectedUser } from '../presence/presence-reconciler.ts'

/**
 * The first message of a session as the parts of its JSON; other services of the chat system fill the empty parts.
 * `presences` is encoded once for many users and never copied: for a large space it is nearly all of the message.
 * Contract: 6, `ready`.
 */
export function readyMessage(
  { snapshot, visible }: ConnectedUser,
  { pendingApprovalCount, ...peerOrigins }: PeeringSummary,
  { sessionId, now }: { sessionId: string; now: number },
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
    spaces: [],
    dmChannels: [],
    folders: [],
    spaceLayout: null,
    layoutUpdatedAt: 0,
    readStates: [],
    activeCalls: [],
    voiceStates: {},
    voiceUserStates: {},
    spaceVoiceStates: {},
    userActivities: {},
  }
  const { shared, others } = visible
  const separator = shared.length > 0 && others.length > 0 ? ',' : ''
  const head = Buffer.from(`${JSON.stringify(message).slice(0, -1)},"presences":{`)
  return [head, shared, Buffer.concat([Buffer.from(separator), others, Buffer.from('}}')])]
}
