import { limits, upstreamLimits } from '@gatehouse/contracts'

/** The gateway's own numbers, with their units. Those that clients see are in the contracts. */
export const policy = {
  headerBytes: 16 * 1024,
  /** Of a JSON body; an upload may be larger by what its form adds. */
  jsonBodyBytes: limits.jsonBodyBytes,
  uploadBodyBytes: limits.uploadBytes + 64 * 1024,
  preflightSeconds: 86_400,
  /** How long the public keys for upstreams may be cached. */
  upstreamKeysSeconds: 300,
  cachedTokens: 50_000,
  /** How long one caller token is reused; it is valid for 30 s, and for the difference that clocks may have. */
  callerTokenReuseMs: 5_000,
  /** Requests that wait for a connection to a service; more get 503, so that a slow service does not fill the memory. */
  waitingRequests: 2_048,
  waitingRequestsPerNetwork: 512,
  /** For account states: not among the connections that requests take, so that these cannot keep them waiting. */
  stateConnectionsPerReplica: 4,
  upstreamKeepAliveMs: 30_000,
  /** Statements of callers without a token that are reused; one takes about 600 bytes. */
  cachedStatements: 10_000,
  /** A replica is ejected for this long after a failure, twice as long after each further one, up to the maximum. */
  ejectionMs: 500,
  maxEjectionMs: 10_000,
  /** A replica that announces its stop gets no new work for this long, if there is another one. */
  leavingMs: 1_000,
  /** How long a replica whose address is no longer among those of its name is asked when no other one can be reached. */
  departedMs: 10_000,
  /** How often the names of services are resolved, how soon after a failure, and how long the start waits for it. */
  discoveryMs: 2_000,
  rediscoveryMs: 100,
  discoveryLimitMs: 2_000,
  /** Of a name server that is configured: how long an attempt may take, and how many there are. */
  dnsAttemptMs: 500,
  dnsAttempts: 3,
  /** Of a query for account states: at first, so that another replica is asked soon, and again when all were late. */
  accountStatesQueryMs: 1_000,
  accountStatesSecondQueryMs: 3_000,
  /** Redis of the rate limits: without it they are counted in this process, so that no request waits longer. */
  rateLimitConnectMs: 2_000,
  rateLimitCommandMs: 300,
  /** A gateway takes at most one part of so many of a high limit from Redis at once, at most so many requests. */
  limitPortions: 30,
  limitPortionMax: 50,
  /** Keys of one limit whose portions are remembered. */
  limitPortionKeys: 20_000,
  /** How long the client of a raw error response may keep its side of the connection open. */
  errorLingerMs: 1_000,
  /** Connections beyond a limit that are kept open for that long to answer them with 503; more are closed at once. */
  refusedConnections: 256,
  /** Requests that a client may send ahead on one connection before their turn. */
  pipelinedRequests: 16,
  /** What a WebSocket takes: the client's connection and the one to the session gateway, and embedded that one's other end. */
  descriptorsPerSocket: 3,
  /** The part of the file descriptors that WebSockets may take. */
  socketShare: 0.75,
  /** A drain closes sockets at this rate, in waves with this pause between them, and all within the spread. */
  drainPerSocketMs: 2,
  drainPauseMs: 20,
  drainSpreadMs: 15_000,
  /** How long the rest of a request may take to arrive when the gateway stops. */
  drainReceiveMs: 5_000,
  /** The operator port stops last, and at once. */
  operatorDrainMs: 500,
  /** File descriptors beside clients and services: log, Redis, NATS, the operator port, and embedded the database. */
  reservedDescriptors: 512,
  /** Of one response: so much is taken off a service although the client does not read it. */
  bufferedBytes: 1024 * 1024,
  /** How long clients may cache a file that is named by its content. */
  immutableSeconds: 31_536_000,
} as const

/** How much the gateway takes at a time. Tests lessen it. */
export type Capacity = typeof defaultCapacity & {
  /** File descriptors of this process, where they are not read from the system. */
  descriptors?: number
}

export const defaultCapacity = {
  connectionsPerReplica: 256,
  /** For uploads and files, which take as long as the client likes. */
  fileConnectionsPerReplica: 64,
  /** HTTP connections, and requests under way, of one client network: also behind a trusted proxy. */
  connectionsPerNetwork: 256,
  /** WebSockets of one client network. Contract: 6. */
  socketsPerNetwork: 1_000,
  uploads: 32,
  uploadsPerNetwork: 8,
  uploadsPerAccount: 2,
  /** What responses hold for clients that read slowly: a network beyond it is cut off, in total services have to wait. */
  bufferedBytesPerNetwork: 32 * 1024 * 1024,
  bufferedBytes: 128 * 1024 * 1024,
}

/** How long the gateway waits, in milliseconds. Tests shorten it. */
export type Timeouts = typeof defaultTimeouts

export const defaultTimeouts = {
  /** For the headers of a request, and for the whole request. */
  clientHeadersMs: 15_000,
  clientRequestMs: 120_000,
  /** For a byte of either side, which is longer than a route may wait for its response. */
  silenceMs: upstreamLimits.timeoutMaxMs + 10_000,
  connectMs: 1_500,
  /** For a free connection to a service. */
  queueMs: 5_000,
  /** For the head of a response: of a read, and of anything else, which may hash, call a peer or delete. */
  readMs: 10_000,
  writeMs: 60_000,
  /** How long a read that a replica failed is tried at another one: what states its caller is good for 30 s by equal clocks. */
  retryMs: 20_000,
  /** Between two chunks of a response body. */
  bodyMs: 30_000,
  /** For a client to read the part of a response that is buffered for it. */
  clientReadMs: 60_000,
  /** For the session gateway's response to an upgrade. */
  upgradeMs: 10_000,
  /** For sockets to close after their close frame when this gateway stops. */
  drainTimeoutMs: 3_000,
}
