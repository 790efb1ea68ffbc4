import { checkRevocation } from '@gatehouse/auth'
import type { LocalUser } from '../sessions/session-registry.ts'
import { needsWrite, type PresenceState, type PresenceTracker } from './presence-state.ts'
import type { PresenceChange, PresenceStore, PresenceTransaction, UserSnapshot } from './presence-store.ts'

export type PresenceBatch = {
  users: readonly LocalUser[]
  /** To be changed by the last attempt. */
  planned: readonly LocalUser[]
}

export type BatchResult = {
  nodeId: string
  snapshots: Map<string, UserSnapshot>
  online: readonly LocalUser[]
  offline: readonly LocalUser[]
  /** By another transaction. */
  locked: ReadonlySet<LocalUser>
  changes: PresenceChange[]
}

/** Sends nothing after the abort of `signal`. Throws NodeNotRegistered. */
export async function writeBatch(
  deps: { store: PresenceStore; tracker: PresenceTracker },
  batch: PresenceBatch,
  { nodeId, signal }: { nodeId: string; signal: AbortSignal },
): Promise<BatchResult> {
  return await deps.store.transaction(async (transaction) => {
    const snapshots = await transaction.lockUsers(idsOf(batch.users))
    const locked = await findLocked(transaction, batch, snapshots)
    // A statement under way keeps its locks, so no later batch is first.
    signal.throwIfAborted()
    const free = batch.users.filter((user) => !locked.has(user))
    for (const user of free) {
      deps.tracker.apply(user, isAccepted(user, snapshots.get(user.id)) ? 'accepted' : 'rejected')
    }
    const withState = (users: readonly LocalUser[], matches: (state: PresenceState) => boolean) =>
      users.filter((user) => matches(deps.tracker.stateOf(user)))
    const online = withState(free, (state) => state.desired === 'online' && state.offlineAfter === undefined)
    const offline = withState(free, (state) => state.desired === 'offline' && needsWrite(state))
    batch.planned = [...online, ...offline]
    const changes = await transaction.write(nodeId, { online: idsOf(online), offline: idsOf(offline) })
    return { nodeId, snapshots, online, offline, locked, changes }
  })
}

async function findLocked(
  transaction: PresenceTransaction,
  { users }: PresenceBatch,
  snapshots: ReadonlyMap<string, UserSnapshot>,
): Promise<Set<LocalUser>> {
  const missing = users.filter(({ id }) => !snapshots.has(id))
  const existing = new Set(await transaction.findExisting(idsOf(missing)))
  return new Set(missing.filter(({ id }) => existing.has(id)))
}

/** The user needs a `ready` socket or a live token. */
function isAccepted(local: LocalUser, snapshot: UserSnapshot | undefined): boolean {
  if (!snapshot || snapshot.user.isDeleted) return false
  for (const socket of local.sockets) {
    if (socket.phase === 'ready' || checkRevocation(socket.session, snapshot.state) === 'live') return true
  }
  return false
}

const idsOf = (users: readonly LocalUser[]) => users.map(({ id }) => id)
