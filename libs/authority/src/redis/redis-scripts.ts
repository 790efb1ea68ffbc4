import type { Redis } from 'ioredis'

/**
 * An entry is `<version><mark>|<state as JSON>`, a lease `<id><mark>`. The mark is empty, or a space and the run id of the
 * process. What has the mark of another process counts as absent: a slot of a cluster may bring it along.
 */

/** A lease that is given again keeps its end. KEYS: lease. ARGV: new lease, ttl. */
const takeLease = `
local held = redis.call('GET', KEYS[1])
if held and string.match(held, ' .*') == string.match(ARGV[1], ' .*') then return held end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]`

/** Two values: whether there is an entry of the same process, and whether it is older. */
const compare = `
local function compare(known, entry)
  local knownVersion, knownMark = string.match(known or '', '^(%d+)([^|]*)')
  local version, mark = string.match(entry, '^(%d+)([^|]*)')
  if knownMark ~= mark then return false, false end
  return true, tonumber(knownVersion) < tonumber(version)
end`

/** KEYS: entry, lease. ARGV: lease, entry, ttl. */
const fillState = `${compare}
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
local isThere, isOlder = compare(redis.call('GET', KEYS[1]), ARGV[2])
if isThere and not isOlder then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`

/** KEYS: entry, lease. ARGV: entry. */
const putState = `${compare}
redis.call('DEL', KEYS[2])
local isThere, isOlder = compare(redis.call('GET', KEYS[1]), ARGV[1])
if not isThere then redis.call('DEL', KEYS[1]) end
if not isOlder then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL')
return 1`

/**
 * For how many milliseconds this process has been in use since it replaced the one that its entries came from, by replication
 * or from a file. A process that began empty replaced none. A process that was promoted and has no note may have lost it. A
 * note that finds no memory is missing later. KEYS: process. ARGV: run id, 1 if it was promoted.
 */
const usedForMs = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('GET', KEYS[1])
local runId, since = string.match(known or '', '^(%w+) (%d+)$')
if runId == ARGV[1] then return now - since end
since = (known or ARGV[2] == '1') and now or 0
redis.pcall('SET', KEYS[1], ARGV[1] .. ' ' .. since)
return now - since`

export type StateRedis = Pick<Redis, 'info' | 'get' | 'mget' | 'quit' | 'disconnect' | 'on'> & {
  usedForMs(processKey: string, runId: string, wasPromoted: 0 | 1): Promise<number>
  takeLease(leaseKey: string, lease: string, ttlMs: number): Promise<string>
  fillState(entryKey: string, leaseKey: string, lease: string, entry: string, ttlMs: number): Promise<number>
  putState(entryKey: string, leaseKey: string, entry: string): Promise<number>
}

export function defineScripts(redis: Redis): Redis & StateRedis {
  redis.defineCommand('usedForMs', { numberOfKeys: 1, lua: usedForMs })
  redis.defineCommand('takeLease', { numberOfKeys: 1, lua: takeLease })
  redis.defineCommand('fillState', { numberOfKeys: 2, lua: fillState })
  redis.defineCommand('putState', { numberOfKeys: 2, lua: putState })
  return redis as Redis & StateRedis
}
