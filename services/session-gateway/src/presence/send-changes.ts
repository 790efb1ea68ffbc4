import { keepForReady, sendFrames } from '../connection/send-text.ts'
import type { OperationContext } from '../context.ts'
import type { AuthenticatedSocket, SessionRegistry } from '../sessions/session-registry.ts'
import type { Audience } from './audience.ts'
import { PresenceFrames, type VisibleChange } from './presence-frames.ts'

export type SendDeps = Pick<OperationContext, 'sessionMetrics'> & { sessions: Pick<SessionRegistry, 'find'> }

/** Keeps the order of the changes. Recipients of the same changes share the bytes. */
export function sendChanges(deps: SendDeps, changes: readonly VisibleChange[], audience: Audience): void {
  const changesOf = new Map<string, number[]>()
  const isHere = (userId: string) => deps.sessions.find(userId) !== undefined
  for (const [index, { userId }] of changes.entries()) append(changesOf, userId, index)
  for (const { indexes, recipients } of groupRecipients(changesOf, audience, isHere)) {
    const ordered = [...indexes].sort((one, other) => one - other).flatMap((index) => changes[index] ?? [])
    const frames = new PresenceFrames(ordered)
    const lastOf = new Map(ordered.map((change) => [change.userId, change]))
    for (const recipient of recipients) {
      for (const socket of deps.sessions.find(recipient)?.sockets ?? []) {
        sendTo(deps, socket, { frames, own: lastOf.get(recipient) })
      }
    }
  }
}

/** Leaves out an own change that the socket's `ready` told. */
function sendTo(
  deps: Pick<OperationContext, 'sessionMetrics'>,
  socket: AuthenticatedSocket,
  { frames, own }: { frames: PresenceFrames; own: VisibleChange | undefined },
): void {
  const isReady = socket.phase === 'ready'
  const knowsOwn = own !== undefined && (!isReady || socket.readyAt >= own.takenAt)
  const parts = knowsOwn ? frames.without(own.userId) : frames.all()
  if (isReady) for (const part of parts) sendFrames(deps, socket, part)
  else for (const part of parts) keepForReady(deps, socket, part)
}

type Group = { indexes: ReadonlySet<number>; recipients: string[] }

/** A user sees the own changes too, on other connections. An audience may include other nodes. */
function groupRecipients(
  changesOf: ReadonlyMap<string, readonly number[]>,
  { spacesOf, membersOf, linkedTo }: Audience,
  isHere: (userId: string) => boolean,
): Iterable<Group> {
  const inSpace = new Map<string, number[]>()
  const sourcesOf = new Map<string, (readonly number[])[]>()
  for (const [userId, indexes] of changesOf) {
    const spaceIds = spacesOf.get(userId) ?? []
    for (const spaceId of spaceIds) for (const index of indexes) append(inSpace, spaceId, index)
    for (const friendId of linkedTo.get(userId) ?? []) append(sourcesOf, friendId, indexes)
    // Otherwise each user would form a group.
    if (spaceIds.length === 0) append(sourcesOf, userId, indexes)
  }
  for (const [spaceId, members] of membersOf) {
    const indexes = inSpace.get(spaceId)
    if (indexes) for (const member of members) if (isHere(member)) append(sourcesOf, member, indexes)
  }

  const groups = new Map<string, Group>()
  const numberOf = new Map<readonly number[], number>()
  for (const [recipient, sources] of sourcesOf) {
    for (const source of sources) if (!numberOf.has(source)) numberOf.set(source, numberOf.size)
    const key = sources.map((source) => numberOf.get(source)).join()
    const group = groups.get(key) ?? { indexes: new Set(sources.flat()), recipients: [] }
    group.recipients.push(recipient)
    groups.set(key, group)
  }
  return groups.values()
}

function append<Value>(lists: Map<string, Value[]>, key: string, value: Value): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}
