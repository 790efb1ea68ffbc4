import { requireSigned } from './checks.ts'
import { field, textField } from './fields.ts'
import type { Instance, RelayEvent } from './instance.ts'
import { parsePeerOrigin } from './origins.ts'
import { learnInstanceId } from './peering.ts'
import { applyProfileOrPresence } from './profiles.ts'
import { refused, reply } from './replies.ts'
import type { ReceivedRequest, Reply } from './replies.ts'

const mostEvents = 50
const maxUploadSize = 8 * 1024 * 1024

/** Names in full, and beginnings that end in an underscore. wire: 6, relay events */
const knownTypes = [
  'create',
  'update',
  'delete',
  'profile_update',
  'presence_update',
  'read_state_update',
  'dm_close',
  'dm_reopen',
  'file_rejected',
  'ownership_transfer',
  'group_metadata_update',
  'friend_request_create',
  'friend_request_update',
  'friend_request_cancel',
  'friend_add',
  'friend_remove',
  'dm_call_start',
  'dm_call_accept',
  'dm_call_reject',
  'dm_call_end',
  'reaction_',
  'dm_typing_',
  'member_',
]

/** Every event is answered by its messageId, in one of two lists: nothing is undeliverable here. wire: 3, relay */
export function answerRelay(instance: Instance, request: ReceivedRequest): Reply {
  const peer = requireSigned(instance, request, { limit: 'relay', obligesToNonce: true })
  const { source, events } = parseRelay(request.body)
  // wire: 3.2
  if (instance.generation === 2 && parsePeerOrigin(source) !== peer.origin) {
    throw refused(403, 'sourceInstance does not match the authenticated peer')
  }
  learnInstanceId(peer, textField(request.body, 'sourceInstanceId'))
  const accepted: string[] = []
  const rejected: { messageId: string; reason: string }[] = []
  for (const event of events) {
    const { messageId } = event
    const reason = receive(instance, event, source)
    if (reason === null) accepted.push(messageId)
    else rejected.push({ messageId, reason })
  }
  return reply(200, { accepted, rejected, maxUploadSize })
}

/** Gives why the event is rejected, else null. */
function receive(instance: Instance, event: RelayEvent, source: string): string | null {
  if (event.eventType === 'profile_update' || event.eventType === 'presence_update') {
    const applied = applyProfileOrPresence(instance, event, source)
    return applied === 'done' ? null : applied
  }
  const isKnown = knownTypes.some((type) => isTypeOrBeginning(type, event.eventType))
  return isKnown ? null : 'unknown_event_type'
}

function isTypeOrBeginning(pattern: string, eventType: string): boolean {
  return pattern.endsWith('_') ? eventType.startsWith(pattern) : eventType === pattern
}

function parseRelay(body: unknown): { source: string; events: RelayEvent[] } {
  const source = textField(body, 'sourceInstance')
  const list = field(body, 'events')
  if (source === null || !Array.isArray(list)) throw refused(400, 'sourceInstance and events are required')
  if (list.length === 0 || list.length > mostEvents) throw refused(400, `1 to ${mostEvents} events are taken`)
  const events = list.map(parseEvent)
  if (events.includes(null)) throw refused(400, 'An event has no eventType or messageId')
  return { source, events: events.filter((event) => event !== null) }
}

export function parseEvent(value: unknown): RelayEvent | null {
  const isEvent = textField(value, 'eventType') !== null && textField(value, 'messageId') !== null
  return isEvent ? (value as RelayEvent) : null
}
