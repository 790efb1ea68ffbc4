export * from './encryption.ts'
export * from './tokens/bearer-token.ts'
export { coalesceLoads } from './coalesce-loads.ts'
export {
  callerHeader,
  createCallerVerifier,
  signCaller,
  signOperator,
  type CallerKeys,
  type CallerVerifier,
  type Caller,
} from './callers/caller-token.ts'
export { createStatementVerifier, signStatement } from './callers/upstream-statement.ts'
export type { AskingUpstream, StatementVerdict, StatementVerifier } from './callers/upstream-statement.ts'
export { callerKeyLines, createSigningKeys, readCallerKey } from './callers/signing-keys.ts'
export type { PublicJwk, SigningKeys } from './callers/signing-keys.ts'
export * from './account-states/account-states.ts'
export * from './account-states/invalidate-cache.ts'
export { createMemoryCache } from './account-states/memory-cache.ts'
export { connectRedisCache } from './account-states/redis-cache.ts'
export * from './account-states/cache.ts'
export { cacheTimes, maxBearerTokenLength } from './policy.ts'
export { RedisTimeout, limitCommands, openRedis } from './redis.ts'
export type { RedisAddress } from './redis.ts'
export { createReceiptKeys, isReceiptGenuine, signReceipt } from './receipts.ts'
export type { ReceiptKeys } from './receipts.ts'
