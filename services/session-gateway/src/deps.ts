import type { CallerKey, TokenKey } from '@gatehouse/auth'
import type { Quota, Timer } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type { PeeringReader } from './federation/peering-summary.ts'
import type { RemotePresences } from './federation/remote-presences.ts'
import type { SessionMetrics } from './metrics.ts'
import type { SessionNode } from './nodes/session-node.ts'
import type { Timings } from './policy.ts'
import type { PresenceBroadcaster } from './presence/presence-broadcaster.ts'
import type { PresenceDelivery } from './presence/presence-delivery.ts'
import type { PresenceReconciler } from './presence/presence-reconciler.ts'
import type { PresenceStore } from './presence/presence-store.ts'
import type { SessionRegistry } from './sessions/session-registry.ts'
import type { OpenSockets } from './socket/open-sockets.ts'
import type { SocketTimeouts } from './socket/socket-timeouts.ts'
import type { MessageForwarder } from './upstreams/message-forwarder.ts'
import type { OccasionalLog } from './upstreams/occasional-log.ts'
import type { ReadyParts } from './upstreams/ready-parts.ts'
import type { UpstreamSet } from './upstreams/upstream-set.ts'

/** Handshakes read accounts from the database, not from Redis. */
export type SessionGatewayResources = Omit<Resources, 'accountStateCache'>

export type OperationContext = Omit<SessionGatewayResources, 'bus'> & { timer: Timer; timings: Timings }

export type Deps = OperationContext & {
  bus: Resources['bus']
  keys: { token: TokenKey; caller: CallerKey }
  sessionMetrics: SessionMetrics
  sessions: SessionRegistry
  node: SessionNode
  presence: PresenceReconciler
  presenceStore: PresenceStore
  broadcaster: PresenceBroadcaster
  presenceDelivery: PresenceDelivery
  remotePresences: RemotePresences
  peering: PeeringReader
  openSockets: OpenSockets
  /** The unauthenticated sockets of each client network. Contract: 6. */
  quota: Quota
  timeouts: SocketTimeouts
  upstreams: UpstreamSet
  forwarder: MessageForwarder
  readyParts: ReadyParts
  occasionalLog: OccasionalLog
}
