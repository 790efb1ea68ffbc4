import type { ReadyMessage } from '@gatehouse/contracts'
import { sanitizeUser } from '@gatehouse/domain'
import { version } from '@gatehouse/service-kit'
import type { Person } from '../presence/settle-presence.ts'

type Given = { person: Person; presentIds: readonly string[]; sessionId: string; now: number }

/** The first message of a session. Empty is what other services of the chat system will fill. Contract: 6, `ready`. */
export function readyReply({ person, presentIds, sessionId, now }: Given): ReadyMessage {
  const presences: ReadyMessage['presences'] = { [person.user.id]: 'online' }
  for (const userId of presentIds) presences[userId] = 'online'
  return {
    type: 'ready',
    user: { ...sanitizeUser(person.user, true), status: 'online' },
    sessionId,
    serverTime: now,
    instance: { name: person.instanceName, instanceId: person.instanceId, version },
    presences,
    spaces: [],
    dmChannels: [],
    folders: [],
    readStates: [],
    activeCalls: [],
    voiceStates: {},
    voiceUserStates: {},
    spaceVoiceStates: {},
    userActivities: {},
  }
}
