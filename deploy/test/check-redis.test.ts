import { expect } from 'chai'
import { Redis } from 'ioredis'
import { startRedis, startRedisCluster } from '@gatehouse/test-kit'
import { runArguments } from './run-arguments.ts'

describe('gatehouse check of Redis', () => {
  async function check(url: string): Promise<string> {
    const elsewhere = { IDENTITY_URL: 'http://127.0.0.1:1', PUBLIC_ORIGIN: 'http://127.0.0.1:1' }
    const { output } = await runArguments(['check', '--json'], { ...elsewhere, REDIS_URL: url })
    const { checks } = JSON.parse(output) as { checks: { check: string; ok: boolean; detail: string }[] }
    const found = checks.find((one) => one.check === 'cache (Redis)')
    return `${found?.ok} ${found?.detail}`
  }

  it('names a policy that evicts rate limits or rejects writes, where memory is limited', async () => {
    await using server = await startRedis()
    const redis = new Redis(server.url)
    const findings: Record<string, string> = {}
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
    findings['no limit'] = await check(server.url)
    await redis.config('SET', 'maxmemory', '100mb')
    for (const policy of ['allkeys-lru', 'volatile-random', 'noeviction', 'volatile-ttl']) {
      await redis.config('SET', 'maxmemory-policy', policy)
      findings[policy] = await check(server.url)
    }
    redis.disconnect()

    const early = 'may evict rate limits early: set volatile-ttl'
    expect(findings).to.deep.equal({
      'no limit': 'true answers',
      'allkeys-lru': `false maxmemory-policy allkeys-lru ${early}`,
      'volatile-random': `false maxmemory-policy volatile-random ${early}`,
      noeviction: 'false maxmemory-policy noeviction rejects writes when memory is full: set volatile-ttl',
      'volatile-ttl': 'true answers',
    })
  })

  it('finds a cluster whose slots are not all served', async () => {
    await using cluster = await startRedisCluster({ primaries: 2, replicated: false })
    const whole = await check(cluster.url)
    await cluster.primaries[1]!.redis.config('SET', 'maxmemory', '100mb')
    const limited = await check(cluster.url)
    await cluster.primaries[1]!.server.kill()
    const broken = await check(cluster.url)

    expect(whole).to.equal('true answers, 2 primaries have all slots')
    expect(limited).to.match(/^false maxmemory-policy noeviction/)
    expect(broken).to.match(/^false does not answer/)
  })
})
