import { checkRevocation } from '@gatehouse/auth'
import type { LocalUser } from '../sessions/session-registry.ts'
import { needsWrite, type PresenceState, type PresenceTracker } from './presence-state.ts'
import type { PresenceStore, UserSnapshot } from './presence-store.ts'

/** `planned`: to be changed by the last attempt. */
export type PresenceBatch = { users: readonly LocalUser[]; planned: readonly LocalUser[] }

/** `locked`: by another transaction. */
export type BatchResult = Awaited<ReturnType<typeof writeBatch>>

/** Sends nothing after the abort of `signal`. Throws NodeNotRegistered. */
export async function writeBatch(
  { store, tracker }: { store: PresenceStore; tracker: PresenceTracker },
  batch: PresenceBatch,
  { nodeId, signal }: { nodeId: string; signal: AbortSignal },
) {
  return await store.transaction(async (transaction) => {
    const snapshots = await transaction.lockUsers(idsOf(batch.users))
    const missing = batch.users.filter(({ id }) => !snapshots.has(id))
    const existing = new Set(await transaction.findExisting(idsOf(missing)))
    const locked = new Set(missing.filter(({ id }) => existing.has(id)))
    // A statement under way keeps its locks, so no later batch is first.
    signal.throwIfAborted()
    const free = batch.users.filter((user) => !locked.has(user))
    for (const user of free) tracker.apply(user, isAccepted(user, snapshots.get(user.id)) ? 'accepted' : 'rejected')
    const online = free.filter((user) => isPresent(tracker.stateOf(user)))
    const offline = free.filter((user) => isLeaving(tracker.stateOf(user)))
    batch.planned = [...online, ...offline]
    const changes = await transaction.write(nodeId, { online: idsOf(online), offline: idsOf(offline) })
    return { nodeId, snapshots, online, offline, locked, changes }
  })
}

/** The user needs a `ready` socket or a live token. */
function isAccepted(local: LocalUser, snapshot: UserSnapshot | undefined): boolean {
  if (!snapshot || snapshot.user.isDeleted) return false
  for (const socket of local.sockets) {
    if (socket.phase === 'ready' || checkRevocation(socket.session, snapshot.state) === 'live') return true
  }
  return false
}

const isPresent = ({ desired, offlineAfter }: PresenceState) => desired === 'online' && offlineAfter === undefined
const isLeaving = (state: PresenceState) => state.desired === 'offline' && needsWrite(state)
const idsOf = (users: readonly LocalUser[]) => users.map(({ id }) => id)
