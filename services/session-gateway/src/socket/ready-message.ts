import type { ReadyMessage } from '@gatehouse/contracts'
import { sanitizeUser } from '@gatehouse/domain'
import { version } from '@gatehouse/service-kit'
import type { PeeringSummary } from '../federation/peering-summary.ts'
import type { ConnectedUser } from '../presence/presence-reconciler.ts'

/** The first message of a session; other services of the chat system fill the empty parts. Contract: 6, `ready`. */
export function readyMessage(
  { snapshot, presentIds }: ConnectedUser,
  { pendingApprovalCount, ...peerOrigins }: PeeringSummary,
  { sessionId, now }: { sessionId: string; now: number },
): ReadyMessage {
  const { user, instanceName, instanceId } = snapshot
  const presences: ReadyMessage['presences'] = { [user.id]: 'online' }
  for (const userId of presentIds) presences[userId] = 'online'
  return {
    type: 'ready',
    user: { ...sanitizeUser(user, true), status: 'online' },
    sessionId,
    serverTime: now,
    instance: { name: instanceName, instanceId, version },
    presences,
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
}
