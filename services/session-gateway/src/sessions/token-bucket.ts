import { limits } from '@gatehouse/contracts'

/** `at` in milliseconds. */
export type TokenBucket = { tokens: number; at: number }

export function createTokenBucket(now: number): TokenBucket {
  return { tokens: limits.socketBurst, at: now }
}

/** `now` in milliseconds. Contract: 6, 30 refilled at 2/s. */
export function takeToken(bucket: TokenBucket, now: number): boolean {
  const gained = (Math.max(0, now - bucket.at) / 1000) * limits.socketRefillPerSecond
  bucket.tokens = Math.min(limits.socketBurst, bucket.tokens + gained)
  bucket.at = now
  if (bucket.tokens < 1) return false
  bucket.tokens -= 1
  return true
}
