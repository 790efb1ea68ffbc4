import type { Redis } from 'ioredis'

/** An entry is `<version>|<state as JSON>`. */

/** A lease that is given again keeps its end. KEYS: lease. ARGV: new lease, ttl. */
const takeLease = `
local held = redis.call('GET', KEYS[1])
if held then return held end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]`

const isOlder = `
local function isOlder(known, version)
  return tonumber(string.match(known, '^%d+')) < tonumber(version)
end`

/** KEYS: entry, lease. ARGV: lease, version, entry, ttl. */
const fillState = `${isOlder}
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
local known = redis.call('GET', KEYS[1])
if known and not isOlder(known, ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
return 1`

/** KEYS: entry, lease. ARGV: version, entry. */
const putState = `${isOlder}
redis.call('DEL', KEYS[2])
local known = redis.call('GET', KEYS[1])
if not known or not isOlder(known, ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
return 1`

/**
 * For how many milliseconds this process has been in use since it replaced the one that its entries came from, by replication
 * or from a file. A process that began empty replaced none. KEYS: process. ARGV: run id.
 */
const usedForMs = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('GET', KEYS[1])
local runId, since = string.match(known or ARGV[1] .. ' 0', '^(%w+) (%d+)$')
if runId ~= ARGV[1] then since = now end
if not known or runId ~= ARGV[1] then redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. since) end
return now - since`

export type StateRedis = Pick<Redis, 'info' | 'mget' | 'quit' | 'disconnect' | 'on'> & {
  usedForMs(processKey: string, runId: string): Promise<number>
  takeLease(leaseKey: string, lease: string, ttlMs: number): Promise<string>
  fillState(
    entryKey: string,
    leaseKey: string,
    lease: string,
    version: number,
    entry: string,
    ttlMs: number,
  ): Promise<number>
  putState(entryKey: string, leaseKey: string, version: number, entry: string): Promise<number>
}

export function defineScripts(redis: Redis): StateRedis {
  redis.defineCommand('usedForMs', { numberOfKeys: 1, lua: usedForMs })
  redis.defineCommand('takeLease', { numberOfKeys: 1, lua: takeLease })
  redis.defineCommand('fillState', { numberOfKeys: 2, lua: fillState })
  redis.defineCommand('putState', { numberOfKeys: 2, lua: putState })
  return redis as Redis & StateRedis
}
