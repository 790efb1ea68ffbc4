import type { Ports } from '@gatehouse/service-kit'
import type { CallerKey, TokenKey } from '@gatehouse/auth'
import type { Connections } from './connections.ts'
import type { Deadlines } from './deadlines.ts'
import type { SessionMetrics } from './metrics.ts'
import type { Timings } from './policy.ts'
import type { Broadcaster } from './presence/broadcaster.ts'
import type { PresenceKeeper } from './presence/presence-keeper.ts'
import type { AddressQuota } from './socket/address-quota.ts'
import type { SessionSocket } from './socket/session-socket.ts'

/** What sockets work with. */
export type Deps = Ports & {
  timings: Timings
  tokenKey: TokenKey
  callerKey: CallerKey
  meters: SessionMetrics
  connections: Connections
  broadcaster: Broadcaster
  presence: PresenceKeeper
  quota: AddressQuota
  /** Sockets that have not proved yet who is there. */
  unproven: Deadlines<SessionSocket>
  /** Sockets until their next ping. */
  pings: Deadlines<SessionSocket>
  /** Sockets that sent too much, until they are read again. */
  braked: Deadlines<SessionSocket>
}
