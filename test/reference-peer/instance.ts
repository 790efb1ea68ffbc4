import type { Fault } from './faults.ts'

export type PeerStatus =
  'pending' | 'awaiting_approval' | 'active' | 'unreachable' | 'needs_attention' | 'rejected' | 'revoked'

/** The page names the first two; the third stands for five refused deliveries. wire: 2.1 */
export type AttentionReason = 'peer_reset_detected' | 'repeer_incomplete' | 'deliveries_refused'

export type Peer = {
  id: string
  origin: string
  status: PeerStatus
  /** Made by queued traffic, so that its offer is repeated on every tick. wire: 2.1 */
  placeholder: boolean
  secret: string
  /** Generation 2: an admin began it, an offer of ours is on its way, and when it is offered again. wire: 2.2, 2.3 */
  byAdmin: boolean
  isOffering: boolean
  failedOffers: number
  nextOfferAt: number
  statusReason: string | null
  /** The second secret while a rotation runs, and until when requests signed with it are taken. wire: 2.8 */
  newSecret: string | null
  newSecretTakenUntil: number
  rotatedAt: number
  autoRotateIntervalDays: number
  /** The token of the 202 that answered the own offer. */
  approvalToken: string | null
  instanceId: string | null
  instanceName: string | null
  attention: AttentionReason | null
  failedDeliveries: number
  refusedDeliveries: number
  failedProbes: number
  nextProbeAt: number
  /** It once sent a nonce to relay or sync, so that a request without one is refused. wire: 1 */
  sendsNonces: boolean
  syncCheckpoints: Record<string, number>
  /** Generation 2. wire: 3.3 */
  syncIds: Record<string, string>
}

export type ApprovalRequest = {
  id: string
  direction: 'inbound' | 'outbound'
  origin: string
  instanceName: string | null
  /** Of the offer that waits; null for a user's wish. */
  secret: string | null
  approvalToken: string | null
  requestedAt: number
  expiresAt: number
}

export type RelayEvent = { eventType: string; contextType: string; messageId: string } & Record<string, unknown>

export type QueuedEvent = {
  origin: string
  event: RelayEvent
  queuedAt: number
  attempts: number
  nextAttemptAt: number
  expiresAt: number
}

export type ReplicatedInstance = { origin: string; username: string }

/** Native: no homeInstance. Stub: a homeInstance and no password. Detached: a replica whose home was reset. */
export type User = {
  id: string
  username: string
  password: string | null
  homeInstance: string | null
  homeUserId: string | null
  detached: boolean
  deleted: boolean
  /** The instanceId that the home had before its reset was seen. wire: 2.6 */
  markedInstanceId: string | null
  displayName: string | null
  avatar: string | null
  banner: string | null
  accentColor: string | null
  avatarColor: string | null
  bio: string | null
  status: string
  profileUpdatedAt: number
  ownedSpaces: { id: string; name: string }[]
  replicatedInstances: ReplicatedInstance[]
  registry: { origin: string }[]
  registryUpdatedAt: number
}

export type LogEntry = {
  direction: 'received' | 'sent'
  at: number
  method: string
  path: string
  /** Received: the header X-Federation-Origin, if any. Sent: the origin that was meant. */
  origin: string
  headers: Record<string, string>
  body: string
  status: number | 'dropped' | 'timeout' | 'unreachable'
  answer: string
}

export type Settings = {
  autoAcceptPeering: boolean
  registrationOpen: boolean
  federatedRegistrationOpen: boolean
  /** Whether the limits of the page are enforced. */
  limits: boolean
}

export type Timeouts = { message: number; deletion: number; relay: number }

/** Everything that one running server knows. What `restart` forgets are the nonces and the counted requests. */
export type Instance = {
  origin: string
  instanceId: string
  instanceName: string
  generation: 1 | 2
  settings: Settings
  now(): number
  peers: Map<string, Peer>
  requests: Map<string, ApprovalRequest>
  outbox: QueuedEvent[]
  users: Map<string, User>
  nonces: Map<string, number>
  countedRequests: Map<string, { startedAt: number; count: number }>
  /** Origin of a remote → the address where a test has it. */
  addresses: Map<string, string>
  timeoutsMs: Timeouts
  probeDelaysMs: number[]
  log: LogEntry[]
  faults: Fault[]
  background: Set<Promise<void>>
  /** Origins that a tick is busy with. */
  inService: Set<string>
  stopping: AbortController
  newSecret(): string
  newNonce(): string
  newId(): string
}

/** Runs what no answer waits for; `idle()` awaits it. It begins only after the present request has its answer. */
export function runInBackground(instance: Instance, work: () => Promise<void>): void {
  const { promise, resolve } = Promise.withResolvers<void>()
  instance.background.add(promise)
  const end = () => {
    instance.background.delete(promise)
    resolve()
  }
  setImmediate(() => {
    if (instance.stopping.signal.aborted) return end()
    work().then(end, end)
  })
}
