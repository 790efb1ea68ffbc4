const second = 1_000

/** How long a start waits for its connection to NATS before it goes on without, and how the attempts go on. */
export const connectStartMs = 2 * second
export const connectAttemptMs = 2 * second
export const connectRetryMs = 200

/** How soon NATS that refused the credentials, or had no JetStream, is tried again by a process that runs. */
export const refusedRetryMs = second

/** How far the clocks of processes and servers may differ. */
export const clockSkewMs = 90 * second

/** A connection that went silent without closing is noticed after two pings. */
export const pingMs = 10 * second

/** How long closing the connection may take to send what was published. */
export const drainMs = 5 * second

/** How long NATS may take to store an event. */
export const publishTimeoutMs = 5 * second

/** Events are kept for a day; a repeated id counts as the same event for two minutes. */
export const maxAgeMs = 24 * 60 * 60 * second
export const duplicateWindowMs = 2 * 60 * second

/**
 * How soon another member of a group gets the events of a process that died. A live one says for each event that it
 * holds that it is still working on it.
 */
export const ackWaitMs = 5 * second
export const workingMs = 2 * second

/** The most events that all members of a group hold at a time, and that one of them fetches ahead. */
export const maxAckPending = 256
export const prefetch = 64

/** How long a pull request waits for events; its heartbeats come at half of it, and two missed ones renew it. */
export const pullExpiresMs = 5 * second

/** When the server forgets the consumer of a subscriber that went away. */
export const inactiveThresholdMs = 30 * second

/** The delays between the deliveries of an event on which a handler fails. */
export const redeliveryBackoff = { firstMs: 100, mostMs: 30 * second }

/** How often the consumers from which others pull are renewed, and after how many times without that they are deleted. */
export const renewConsumersMs = 60 * second
export const missedRenewals = 10

/**
 * How long after the loss of a consumer it is created again, and its stream where that is missing: nats-server 2.9 leaves
 * a stream that stores nothing when it is created while its predecessor is still being deleted.
 */
export const recreateAfterLossMs = second

/** The delays between attempts to create a stream or consumer again. */
export const recreateBackoff = { firstMs: 100, mostMs: second }

/** How many published ids the in-process bus remembers, to recognize repeated ones. */
export const rememberedIds = 10_000

/** How many outbox events are published at a time, and how often the outbox is looked at without a notification. */
export const outboxBatch = 200
export const outboxPollMs = 500

/** The delays after a batch that failed: the bus or the database is away. */
export const outboxRetryBackoff = { firstMs: 100, mostMs: 2 * second }

/** The delays before an outbox event that cannot be published is tried again. */
export const failedEventBackoff = { firstMs: second, mostMs: 60 * second }
