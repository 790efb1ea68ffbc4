import { checkRevocation } from '@gatehouse/auth'
import type { LocalUser } from '../sessions/session-registry.ts'
import { needsWrite } from './presence-state.ts'
import type { PresenceChange, PresenceStore, PresenceTransaction, UserSnapshot } from './presence-store.ts'
import type { PresenceTracker } from './presence-tracker.ts'

/** Users that are written together. */
export type PresenceBatch = {
  users: readonly LocalUser[]
  /** Those of them whose rows the last attempt meant to change. */
  planned: readonly LocalUser[]
}

export type BatchResult = {
  /** The node under which it was written. */
  nodeId: string
  snapshots: Map<string, UserSnapshot>
  online: readonly LocalUser[]
  offline: readonly LocalUser[]
  /** Users whose row another transaction has locked. */
  locked: ReadonlySet<LocalUser>
  changes: PresenceChange[]
}

/**
 * One transaction: locks the accounts, decides with what it reads which users are accepted, writes what follows. Nothing
 * is sent after the abort of `signal`. Throws NodeNotRegistered.
 */
export async function writeBatch(
  deps: { store: PresenceStore; tracker: PresenceTracker },
  batch: PresenceBatch,
  { nodeId, signal }: { nodeId: string; signal: AbortSignal },
): Promise<BatchResult> {
  return await deps.store.transaction(async (transaction) => {
    const snapshots = await transaction.lockUsers(idsOf(batch.users))
    const locked = await findLocked(transaction, batch, snapshots)
    // What is sent later keeps the locks until PostgreSQL has decided, so that no later batch is overtaken.
    signal.throwIfAborted()
    const free = batch.users.filter((user) => !locked.has(user))
    for (const user of free) {
      deps.tracker.apply(user, isAccepted(user, snapshots.get(user.id)) ? 'accepted' : 'rejected')
    }
    const online = free.filter(({ presence }) => presence.desired === 'online' && presence.offlineAfter === undefined)
    const offline = free.filter(({ presence }) => presence.desired === 'offline' && needsWrite(presence))
    batch.planned = [...online, ...offline]
    const unconfirmed = batch.planned.filter(({ presence }) => presence.recorded === 'unknown')
    const write = { online: idsOf(online), offline: idsOf(offline), unconfirmed: idsOf(unconfirmed) }
    const changes = await transaction.write(nodeId, write)
    return { nodeId, snapshots, online, offline, locked, changes }
  })
}

/** Of the users whose row was not given, those that exist. */
async function findLocked(
  transaction: PresenceTransaction,
  { users }: PresenceBatch,
  snapshots: ReadonlyMap<string, UserSnapshot>,
): Promise<Set<LocalUser>> {
  const missing = users.filter(({ id }) => !snapshots.has(id))
  const existing = new Set(await transaction.findExisting(idsOf(missing)))
  return new Set(missing.filter(({ id }) => existing.has(id)))
}

/** Whether a socket of the user may be online: it is `ready`, or its token is live. */
function isAccepted(local: LocalUser, snapshot: UserSnapshot | undefined): boolean {
  if (!snapshot || snapshot.user.isDeleted) return false
  for (const socket of local.sockets) {
    if (socket.phase === 'ready' || checkRevocation(socket, snapshot.state) === 'live') return true
  }
  return false
}

const idsOf = (users: readonly LocalUser[]) => users.map(({ id }) => id)
