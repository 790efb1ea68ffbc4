import { limits, upstreamLimits } from '@gatehouse/contracts'

export const policy = {
  /** More than that is 431. Contract: 1, statuses. */
  headerBytes: 32 * 1024,
  jsonBodyBytes: limits.jsonBodyBytes,
  uploadBodyBytes: limits.uploadBytes + 64 * 1024,
  /** A batch of a peer may be larger than any other body. Contract: 7, relay. */
  relayBodyBytes: 10 * 1024 * 1024,
  preflightSeconds: 86_400,
  upstreamKeysSeconds: 300,
  cachedTokens: 50_000,
  /** A caller token is valid for 30 s. The rest is for differences of clocks. */
  callerTokenReuseMs: 5_000,
  /** More requests get 503. This bounds the memory that a slow service can cost. */
  waitingRequests: 2_048,
  waitingRequestsPerNetwork: 512,
  /** Account states have connections of their own, so that requests cannot delay them. */
  stateConnectionsPerReplica: 4,
  /**
   * An idle connection is closed before a service would close it, since a request that meets its end is lost. Services of ours
   * wait for a second when they stop; others close them after 2 s or later.
   */
  upstreamKeepAliveMs: 500,
  cachedStatements: 10_000,
  /** Each further failure doubles the time, up to the maximum. */
  ejection: { firstMs: 500, mostMs: 10_000 },
  /** For this time a stopping replica gets new work only when there is no other. */
  leavingMs: 1_000,
  /** A replica outside DNS is still asked for this time when no other can be reached. */
  departedMs: 10_000,
  discoveryMs: 2_000,
  rediscoveryMs: 100,
  discoveryLimitMs: 2_000,
  dnsAttemptMs: 500,
  dnsAttempts: 3,
  /** The second time is for the case that all replicas were late. */
  accountStatesQueryMs: 1_000,
  accountStatesSecondQueryMs: 3_000,
  /** Limits are counted in this process when Redis takes longer. */
  rateLimitConnectMs: 2_000,
  rateLimitCommandMs: 300,
  errorLingerMs: 1_000,
  /** These connections get 503. Further ones are closed at once. */
  refusedConnections: 256,
  pipelinedRequests: 16,
  /** The client's connection, the one to the session gateway, and in the embedded form the other end of that. */
  descriptorsPerSocket: 3,
  socketShare: 0.75,
  drainSpreadMs: 15_000,
  drainReceiveMs: 5_000,
  operatorDrainMs: 500,
  /** The log, Redis, NATS, the operator port, and in the embedded form the database. */
  reservedDescriptors: 512,
  bufferedBytes: 1024 * 1024,
  immutableSeconds: 31_536_000,
  /** How long the name of the instance in pages may be out of date. */
  linkPreviewMs: 10_000,
} as const

/** `descriptors` is read from the system by default. */
export type Capacity = typeof defaultCapacity & { descriptors?: number }

export const defaultCapacity = {
  connectionsPerReplica: 256,
  /** Uploads and files take as long as the client likes. */
  fileConnectionsPerReplica: 64,
  /** HTTP connections, and also requests under way, of one client network. */
  connectionsPerNetwork: 256,
  /** At one gateway. Contract: 6, sockets of an account. */
  socketsPerNetwork: 1_000,
  uploads: 32,
  uploadsPerNetwork: 8,
  uploadsPerAccount: 2,
  /** A network above its limit is cut off. Services wait at the total. */
  bufferedBytesPerNetwork: 32 * 1024 * 1024,
  bufferedBytes: 128 * 1024 * 1024,
}

export type Timeouts = typeof defaultTimeouts

export const defaultTimeouts = {
  clientHeadersMs: 15_000,
  clientRequestMs: 120_000,
  /** Longer than any route may wait for its response. */
  silenceMs: upstreamLimits.timeoutMaxMs + 10_000,
  connectMs: 1_500,
  queueMs: 5_000,
  /** The head of a response. Writes may hash a password, call a peer or delete. */
  readMs: 10_000,
  writeMs: 60_000,
  /** The time in which a failed read is repeated. A caller token is valid for 30 s. */
  retryMs: 20_000,
  bodyMs: 30_000,
  clientReadMs: 60_000,
  upgradeMs: 10_000,
  /** A socket that takes nothing is ended: the session gateway pings each 30 s. Contract: 6, heartbeat. */
  socketSilenceMs: 70_000,
  /** The time between the close frames and the end of the sockets. */
  drainTimeoutMs: 3_000,
}
