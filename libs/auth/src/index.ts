export { createTokenKey, signToken, verifyToken } from './tokens/bearer-token.ts'
export type { TokenClaims, TokenKey } from './tokens/bearer-token.ts'
export { checkRevocation } from './tokens/revocation.ts'
export type { TokenStatus } from './tokens/revocation.ts'
export {
  callerHeader,
  createCallerKey,
  createCallerVerifier,
  signCallerToken,
  signOperatorToken,
  verifyCallerToken,
} from './tokens/caller-token.ts'
export type { Caller, CallerKey } from './tokens/caller-token.ts'
export { createAccountStates } from './account-states/account-states.ts'
export type { AccountStates, LoadedStates } from './account-states/account-states.ts'
export { createCacheInvalidator } from './account-states/invalidate-cache.ts'
export type { CacheInvalidator } from './account-states/invalidate-cache.ts'
export { createMemoryCache } from './account-states/memory-cache.ts'
export { connectRedisCache } from './account-states/redis-cache.ts'
export { CacheUnavailable } from './account-states/cache.ts'
export type { AccountStateCache } from './account-states/cache.ts'
export { cacheTimes } from './policy.ts'
export { RedisTimeout, limitCommands, redisOptions } from './redis.ts'
export { signCallerStatement } from './statement/caller-statement.ts'
export { createStatementKeys } from './statement/statement-keys.ts'
export type { PublicJwk, StatementKeys } from './statement/statement-keys.ts'
