import type { PresenceMessage } from '@gatehouse/contracts'
import { sendOrKeep } from '../connection/send-text.ts'
import { encodeMessage, textFrameHeader } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'
import type { AuthenticatedSocket, SessionRegistry } from '../sessions/session-registry.ts'
import type { Audience } from './audience.ts'

/**
 * Sends presence changes to the sockets of this node that may see them.
 *
 * It has no state. The feed calls it with a page of changes and their audience (presence-feed.ts), and so does the audience
 * of upstreams (upstream-audience.ts).
 *
 * 1. `groupRecipients` puts recipients with the same list of changes into one group: mostly, all members of a space.
 * 2. `presenceFrames` encodes the changes of a group once. A socket that must not get all of them gets slices of the bytes.
 * 3. `partsFor` chooses for one socket. A socket that watches users gets these, its friends, its DM co-members and itself.
 * 4. `sendOrKeep` sends. A socket that is not `ready` yet keeps the frames until it is.
 *
 * What must never happen:
 * - A user outside of the audience receives a change. Nothing here adds a recipient but the user themselves.
 * - The changes of one user arrive in another order than recorded. Each group sorts by index.
 * - A change is encoded for each socket. In a large space that would cost the members times the changes.
 * - A user hears that they are offline while a socket of theirs is open.
 *
 * docs/decisions/presence.md; the messages: docs/reference/sockets.md.
 */

/** `isIncludedInReady`: recorded by this node, so `ready` contains it already. */
export type VisibleChange = Pick<PresenceMessage, 'userId' | 'status'> &
  Partial<PresenceMessage> & { isIncludedInReady?: boolean }

export type SendDeps = Pick<OperationContext, 'sessionMetrics'> & { sessions: SessionRegistry }

/** Recipients of the same changes share the bytes. */
export function sendChanges(deps: SendDeps, changes: readonly VisibleChange[], audience: Audience): void {
  const changesOf = new Map<string, number[]>()
  const isHere = (userId: string) => deps.sessions.find(userId) !== undefined
  for (const [index, { userId }] of changes.entries()) append(changesOf, userId, index)
  const linkedTo = invert(audience.linkedTo)
  for (const { indexes, recipients } of groupRecipients(changesOf, audience, isHere)) {
    const ordered = [...indexes].sort((one, other) => one - other).flatMap((index) => changes[index] ?? [])
    const frames = presenceFrames(ordered)
    const lastOf = new Map(ordered.map((change) => [change.userId, change]))
    for (const recipient of recipients) {
      const forRecipient = { frames, own: lastOf.get(recipient), linked: linkedTo.get(recipient) ?? [] }
      for (const socket of deps.sessions.find(recipient)?.sockets ?? []) {
        for (const part of partsFor(socket, forRecipient)) sendOrKeep(deps, socket, part)
      }
    }
  }
}

/** Recipient -> the changed friends and DM co-members. */
function invert(linkedTo: Audience['linkedTo']): Map<string, string[]> {
  const inverted = new Map<string, string[]>()
  for (const [userId, recipients] of linkedTo) for (const recipient of recipients) append(inverted, recipient, userId)
  return inverted
}

type RecipientChanges = {
  frames: ReturnType<typeof presenceFrames>
  own: VisibleChange | undefined
  linked: readonly string[]
}

/** Skips the user's own change if `ready` contains it already, or if it says that the user is offline. */
function partsFor({ phase, watched }: AuthenticatedSocket, { frames, own, linked }: RecipientChanges): Buffer[] {
  const knowsOwn = phase !== 'ready' || own?.isIncludedInReady === true || own?.status === 'offline'
  const skippedId = knowsOwn ? own?.userId : undefined
  if (!watched) return frames.without(skippedId)
  return frames.only([...linked, ...(own ? [own.userId] : [])], watched, skippedId)
}

type Group = { indexes: ReadonlySet<number>; recipients: string[] }

/** A user sees own changes too. An audience may include other nodes. */
function groupRecipients(
  changesOf: ReadonlyMap<string, readonly number[]>,
  { spacesOf, membersOf, linkedTo }: Audience,
  isHere: (userId: string) => boolean,
): Iterable<Group> {
  const inSpace = new Map<string, number[]>()
  const sourcesOf = new Map<string, (readonly number[])[]>()
  for (const [userId, indexes] of changesOf) {
    for (const spaceId of spacesOf.get(userId) ?? []) for (const index of indexes) append(inSpace, spaceId, index)
    for (const friendId of linkedTo.get(userId) ?? []) append(sourcesOf, friendId, indexes)
  }
  // Each user with another list of changes forms a group, so a space tells own changes too.
  const ownTold = new Set<string>()
  for (const [spaceId, members] of membersOf) {
    const indexes = inSpace.get(spaceId)
    if (!indexes) continue
    for (const member of members) {
      if (isHere(member)) append(sourcesOf, member, indexes)
      if (changesOf.has(member) && spacesOf.get(member)?.includes(spaceId)) ownTold.add(member)
    }
  }
  for (const [userId, indexes] of changesOf) if (!ownTold.has(userId)) append(sourcesOf, userId, indexes)

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

type Range = { from: number; to: number }
type Encoded = { bytes: Buffer; rangesOf: ReadonlyMap<string, readonly Range[]> }

/** Encoded once for all sockets. */
function presenceFrames(changes: readonly VisibleChange[]) {
  let encoded: Encoded | undefined
  return {
    without(userId: string | undefined): Buffer[] {
      if (changes.every((change) => change.userId === userId)) return []
      const { bytes, rangesOf } = (encoded ??= encode(changes))
      if (userId === undefined) return [bytes]
      const parts: Buffer[] = []
      let from = 0
      for (const range of rangesOf.get(userId) ?? []) {
        parts.push(bytes.subarray(from, range.from))
        from = range.to
      }
      return [...parts, bytes.subarray(from)].filter((part) => part.length > 0)
    },
    /** Of the users and the watched ones but for `except`. */
    only(userIds: readonly string[], watched: ReadonlySet<string>, except: string | undefined): Buffer[] {
      const { bytes, rangesOf } = (encoded ??= encode(changes))
      const chosen = new Set(userIds)
      const [fewer, more] = watched.size < rangesOf.size ? [watched, rangesOf] : [rangesOf, watched]
      for (const userId of fewer.keys()) if (more.has(userId)) chosen.add(userId)
      if (except !== undefined) chosen.delete(except)
      const ranges = [...chosen].flatMap((userId) => rangesOf.get(userId) ?? [])
      return ranges.sort((one, other) => one.from - other.from).map(({ from, to }) => bytes.subarray(from, to))
    },
  }
}

function encode(changes: readonly VisibleChange[]): Encoded {
  const frames: Buffer[] = []
  const rangesOf = new Map<string, Range[]>()
  let length = 0
  for (const { userId, status, homeUserId = null, homeInstance = null } of changes) {
    const update = { type: 'presence_update', userId, status, homeUserId, homeInstance } as const
    const message = encodeMessage(update satisfies PresenceMessage)
    const header = textFrameHeader(message.length)
    frames.push(header, message)
    const to = length + header.length + message.length
    append(rangesOf, userId, { from: length, to })
    length = to
  }
  return { bytes: Buffer.concat(frames, length), rangesOf }
}
