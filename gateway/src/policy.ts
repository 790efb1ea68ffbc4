import { limits } from '@gatehouse/contracts'

/** Every number of the gateway's own, with its unit. Those that clients see are in the contracts. */
export const policy = {
  headerBytes: 16 * 1024,
  /** Of a JSON body; an upload may be larger by what its form adds. */
  jsonBodyBytes: limits.jsonBodyBytes,
  uploadBodyBytes: limits.uploadBytes + 64 * 1024,
  rememberedTokens: 50_000,
  /** How long one signed statement of a caller is used again; it counts for 30 s. */
  statementMs: 5_000,
  preflightSeconds: 86_400,
  /** Requests under way to one replica; more are turned away, so that a slow service fills no memory. */
  requestsPerReplica: 2_048,
  connectionsPerReplica: 256,
  /** A replica that failed rests this long, doubled each time up to the most. */
  restMs: 500,
  restMostMs: 10_000,
  stateRequestMs: 1_000,
  staticFileBytes: 10 * 1024 * 1024,
  /** How long an index.html is believed to be the newest. */
  webCheckMs: 1_000,
} as const

/** How long the gateway waits, in milliseconds. Tests shorten it. */
export type Patience = typeof patience

export const patience = {
  /** For a client to send its headers, and its whole request. */
  clientHeadersMs: 15_000,
  clientRequestMs: 120_000,
  connectMs: 1_500,
  /** For a service to begin its answer: to a read, and to anything else, which may hash, wait for a peer or delete. */
  readMs: 10_000,
  writeMs: 60_000,
  /** Between two pieces of an answer. */
  bodyMs: 30_000,
  /** For a session gateway to take a socket. */
  upgradeMs: 10_000,
  /** For session gateways to say goodbye to their sockets when this gateway stops. */
  farewellMs: 3_000,
}
