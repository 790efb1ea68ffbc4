const second = 1_000

/** A start waits this long for NATS, then goes on without it. */
export const connectStartMs = 2 * second
export const connectAttemptMs = 2 * second
export const connectRetryMs = 200
/** The delay after NATS refused the credentials or had no JetStream. */
export const refusedRetryMs = second
export const clockSkewMs = 90 * second
/** Two unanswered pings end a silent connection. */
export const pingMs = 10 * second
/** The limit for sending what was published before closing. */
export const drainMs = 5 * second
/** Repeated from the outbox: a leader that dies answers nothing, and the next one is there after seconds. */
export const publishTimeoutMs = 2 * second

/** Each stream keeps events for a day. Both fit into the storage of NATS: deploy/nats. A repeated id is the same event for two minutes. */
export const streamBytes = 256 * 1024 * 1024
/** Of each stream, where the server is a cluster. One node may then be lost. */
export const clusterReplicas = 3
/** While a cluster has fewer nodes. */
export const completeAgainMs = 5 * second
export const maxAgeMs = 24 * 60 * 60 * second
export const duplicateWindowMs = 2 * 60 * second

/** The events of a dead process go to another member after this time. A living one renews each event that it holds. */
export const ackWaitMs = 5 * second
export const workingMs = 2 * second
/** The most events that a group holds at a time, and that one member prefetches. */
export const maxAckPending = 256
export const prefetch = 64
export const pullExpiresMs = 5 * second
/** The server then deletes the consumer of a lost subscriber. */
export const inactiveThresholdMs = 30 * second
/** The delays between deliveries after a failing handler. */
export const redeliveryBackoff = { firstMs: 100, mostMs: 30 * second }
/** The interval of renewals, and the missed ones before a consumer is deleted. */
export const renewConsumersMs = 60 * second
export const missedRenewals = 10
/** nats-server 2.9 makes a stream that stores nothing while its predecessor is being deleted. */
export const recreateAfterLossMs = second
export const recreateBackoff = { firstMs: 100, mostMs: second }

export const rememberedIds = 10_000
