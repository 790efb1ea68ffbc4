import { call, isSuccess } from './calls.ts'
import { requireSigned } from './checks.ts'
import { field, textField } from './fields.ts'
import type { Instance, Peer, RelayEvent } from './instance.ts'
import { applyProfileOrPresence, profileUpdateEvent } from './profiles.ts'
import { parseEvent } from './relay.ts'
import { refused, reply } from './replies.ts'
import type { ReceivedRequest, Reply } from './replies.ts'
import { nativeUsers } from './users.ts'

const path = '/api/federation/sync'
const pageLength = 100
const longestPage = 500
const noType = ''
const contextTypes = [noType, 'dm', 'friend', 'profile']

/** Three requests, one after another, each with its pages; a failed one ends and is not repeated. wire: 2.7 */
export async function syncWith(instance: Instance, peer: Peer): Promise<void> {
  const types = instance.generation === 2 ? ['dm', 'friend', 'profile'] : [noType, 'friend', 'profile']
  for (const contextType of types) await syncContext(instance, peer, contextType)
}

async function syncContext(instance: Instance, peer: Peer, contextType: string): Promise<void> {
  let hasMore = true
  while (hasMore && peer.status === 'active') {
    const sinceTimestamp = peer.syncCheckpoints[contextType] ?? 0
    const afterId = instance.generation === 2 ? peer.syncIds[contextType] : undefined
    const typed = contextType === noType ? {} : { contextType }
    const body = { sinceTimestamp, ...(afterId === undefined ? {} : { afterId }), limit: pageLength, ...typed }
    const secret = peer.newSecret ?? peer.secret
    const timeoutMs = instance.timeoutsMs.relay
    const answer = await call(instance, { origin: peer.origin, method: 'POST', path, body, secret, timeoutMs })
    if (!isSuccess(answer)) return
    applyPage(instance, peer, answer.body)
    const checkpoint = field(answer.body, 'checkpoint')
    const checkpointId = textField(answer.body, 'checkpointId') ?? undefined
    const isNext = instance.generation === 2 && checkpointId !== undefined && checkpointId !== afterId
    const isLater = typeof checkpoint === 'number' && (checkpoint > sinceTimestamp || isNext)
    if (isLater) {
      peer.syncCheckpoints[contextType] = checkpoint
      if (checkpointId !== undefined) peer.syncIds[contextType] = checkpointId
    }
    hasMore = isLater && field(answer.body, 'hasMore') === true
  }
}

function applyPage(instance: Instance, peer: Peer, body: unknown): void {
  const events = field(body, 'events')
  if (!Array.isArray(events)) return
  for (const item of events) {
    const event = parseEvent(item)
    if (event?.contextType === 'profile') applyProfileOrPresence(instance, event, peer.origin)
  }
}

/** What concerns the asker: profiles of users who name its origin, and what a test has put there. wire: 3, sync */
export function answerSync(instance: Instance, request: ReceivedRequest): Reply {
  const peer = requireSigned(instance, request, { obligesToNonce: true })
  const { sinceTimestamp, limit, contextType } = parseSync(request.body)
  const isSecond = instance.generation === 2
  const afterId = isSecond ? textField(request.body, 'afterId') : null
  const timeOf = (event: RelayEvent) => Number(event.timestamp)
  const isAfter = (event: RelayEvent) =>
    timeOf(event) > sinceTimestamp ||
    (afterId !== null && timeOf(event) === sinceTimestamp && event.messageId > afterId)
  const events = eventsFor(instance, peer, contextType)
    .filter(isAfter)
    .sort((one, other) => timeOf(one) - timeOf(other) || (one.messageId < other.messageId ? -1 : 1))
  const page = events.slice(0, limit)
  const last = page.at(-1)
  const checkpoint = last ? timeOf(last) : sinceTimestamp
  return reply(200, {
    events: page,
    hasMore: events.length > page.length,
    checkpoint,
    ...(isSecond && last && { checkpointId: last.messageId }),
  })
}

function eventsFor(instance: Instance, peer: Peer, contextType: string): RelayEvent[] {
  if (contextType !== 'profile') return []
  return nativeUsers(instance)
    .filter((user) => user.replicatedInstances.some(({ origin }) => origin === peer.origin))
    .map((user) => ({ ...profileUpdateEvent(instance, user), timestamp: user.profileUpdatedAt }))
}

function parseSync(body: unknown): { sinceTimestamp: number; limit: number; contextType: string } {
  const [sinceTimestamp, limit] = [field(body, 'sinceTimestamp'), field(body, 'limit')]
  const contextType = field(body, 'contextType') ?? noType
  const isLimit = typeof limit === 'number' && limit >= 1 && limit <= longestPage
  if (typeof sinceTimestamp !== 'number' || !isLimit) throw refused(400, 'sinceTimestamp and limit are required')
  if (typeof contextType !== 'string' || !contextTypes.includes(contextType)) throw refused(400, 'Unknown contextType')
  return { sinceTimestamp, limit, contextType }
}
