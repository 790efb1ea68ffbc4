const second = 1_000

export const outboxBatch = 200
export const outboxPollMs = 500
export const outboxRetryBackoff = { firstMs: 100, mostMs: 2 * second }
export const failedEventBackoff = { firstMs: second, mostMs: 60 * second }
