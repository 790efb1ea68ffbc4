import { type PresentAudience } from '@gatehouse/database'
import { presenceChanged, type PresenceMessage } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { encodeMessage, sendText } from '../socket/send-text.ts'
import { readAudience, type PresenceChange } from './settle-presence.ts'

export type Delivery = PresenceChange & { recipients: readonly string[] }

/** Carries changes of presence to those who are to see them. Contract: 6, presence_update. */
export type Broadcaster = {
  /** Tells the audience, wherever it is connected: one message for each node. */
  publish(changes: readonly PresenceChange[], audience: readonly PresentAudience[]): void
  /** The same, having looked up the audience as it is now. */
  tell(changes: readonly PresenceChange[]): Promise<void>
  /** Keeps changes that could not be told; the newest of each user. */
  postpone(changes: readonly PresenceChange[]): void
  /** Tells what was kept, if it can be told now. */
  catchUp(): Promise<void>
  /** Tells the recipients who are connected here, unless they know better. */
  deliver(delivery: Delivery): void
}

type Needs = Pick<Deps, 'orm' | 'bus' | 'connections' | 'meters'> & { node: { readonly id: string } }

export function createBroadcaster(deps: Needs): Broadcaster {
  const { bus, connections, node } = deps
  const kept = new Map<string, PresenceChange>()
  const isNews = rememberVersions(policy.rememberedVersions)

  function publish(changes: readonly PresenceChange[], audience: readonly PresentAudience[]): void {
    const audienceOf = Map.groupBy(audience, ({ userId }) => userId)
    for (const change of changes) {
      deps.meters.presenceChanges.inc({ status: change.status })
      for (const { nodeId, recipients } of audienceOf.get(change.userId) ?? []) {
        if (nodeId === node.id) deliver({ ...change, recipients })
        else announce(nodeId, change, recipients)
      }
    }
    if (!bus.ready()) postpone(changes)
  }

  function announce(to: string, change: PresenceChange, recipients: readonly string[]): void {
    for (let first = 0; first < recipients.length; first += policy.recipientsPerMessage) {
      const part = recipients.slice(first, first + policy.recipientsPerMessage)
      bus.announce(presenceChanged, { ...change, recipients: part }, { to })
    }
  }

  function postpone(changes: readonly PresenceChange[]): void {
    for (const change of changes) {
      if (change.version > (kept.get(change.userId)?.version ?? -1)) kept.set(change.userId, change)
    }
  }

  async function tell(changes: readonly PresenceChange[]): Promise<void> {
    const userIds = changes.map(({ userId }) => userId)
    try {
      publish(changes, await readAudience(deps, userIds))
    } catch (error) {
      postpone(changes)
      throw error
    }
  }

  async function catchUp(): Promise<void> {
    if (!bus.ready()) return
    const changes = [...kept.values()].slice(0, policy.settleBatch)
    for (const { userId } of changes) kept.delete(userId)
    await tell(changes)
  }

  function deliver({ userId, status, version, recipients }: Delivery): void {
    if (!isNews(userId, version)) return
    const message = encodeMessage({ type: 'presence_update', userId, status } satisfies PresenceMessage)
    for (const recipient of recipients) {
      for (const socket of connections.find(recipient)?.sockets ?? []) {
        if (socket.phase === 'ready') sendText(deps, socket, message)
        else (socket.backlog ??= []).push(message)
      }
    }
  }

  return { publish, tell, postpone, catchUp, deliver }
}

/**
 * Two nodes may tell of one user at the same time, and the older news may come later. Parts of one message have the same
 * version. Remembers the last `limit` users that were heard of.
 */
function rememberVersions(limit: number): (userId: string, version: number) => boolean {
  const versions = new Map<string, number>()
  return (userId, version) => {
    if (version < (versions.get(userId) ?? -1)) return false
    versions.delete(userId)
    versions.set(userId, version)
    if (versions.size > limit) versions.delete(versions.keys().next().value!)
    return true
  }
}
