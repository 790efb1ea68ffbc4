import { limits } from '@gatehouse/contracts'

/** The gateway's own numbers, with their units. Those that clients see are in the contracts. */
export const policy = {
  headerBytes: 16 * 1024,
  /** Of a JSON body; an upload may be larger by what its form adds. */
  jsonBodyBytes: limits.jsonBodyBytes,
  uploadBodyBytes: limits.uploadBytes + 64 * 1024,
  preflightSeconds: 86_400,
  cachedTokens: 50_000,
  /** How long one caller token is reused; it is valid for 30 s. */
  callerTokenReuseMs: 5_000,
  /** Concurrent requests to one replica; more get 503, so that a slow service does not fill the memory. */
  requestsPerReplica: 2_048,
  connectionsPerReplica: 256,
  upstreamKeepAliveMs: 30_000,
  /** A replica is ejected for this long after a failure, twice as long after each further one, up to the maximum. */
  ejectionMs: 500,
  maxEjectionMs: 10_000,
  accountStatesQueryMs: 1_000,
  /** Redis of the rate limits: without it they are counted in this process, so that no request waits longer. */
  rateLimitConnectMs: 2_000,
  rateLimitCommandMs: 300,
  /** How long the client of a raw error response may keep its side of the connection open. */
  errorLingerMs: 1_000,
  /** How long clients may cache a file that is named by its content. */
  immutableSeconds: 31_536_000,
} as const

/** How long the gateway waits, in milliseconds. Tests shorten it. */
export type Timeouts = typeof defaultTimeouts

export const defaultTimeouts = {
  /** For the headers of a request, and for the whole request. */
  clientHeadersMs: 15_000,
  clientRequestMs: 120_000,
  connectMs: 1_500,
  /** For the head of a response: of a read, and of anything else, which may hash, call a peer or delete. */
  readMs: 10_000,
  writeMs: 60_000,
  /** Between two chunks of a response body. */
  bodyMs: 30_000,
  /** For the session gateway's response to an upgrade. */
  upgradeMs: 10_000,
  /** For session gateways to close their sockets when this gateway stops. */
  drainTimeoutMs: 3_000,
}
