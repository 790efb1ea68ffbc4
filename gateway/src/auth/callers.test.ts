import { expect } from 'chai'
import { createTokenKey, signToken } from '@gatehouse/auth'
import { createTokenCache } from './callers.ts'

const key = createTokenKey('k'.repeat(32))
const now = 1_700_000_000_000
const tokenOf = (userId: string): string => signToken(key, { userId, username: 'ada' }, { expiresIn: '60s', now })

describe('Cached tokens', () => {
  it('are verified once', () => {
    const cache = createTokenCache(key, 100)
    const token = tokenOf('1')

    expect(cache.verifyCached(token, now)).to.equal(cache.verifyCached(token, now + 59_999))
    expect(cache.verifyCached(token, now)?.claims.userId).to.equal('1')
  })

  it('expire while they are cached', () => {
    const cache = createTokenCache(key, 100)
    cache.verifyCached(tokenOf('1'), now)

    expect(cache.verifyCached(tokenOf('1'), now + 60_000)).to.equal(undefined)
  })

  it('do not match similar tokens', () => {
    const cache = createTokenCache(key, 100)
    const token = tokenOf('1')
    cache.verifyCached(token, now)

    expect(cache.verifyCached(`${token}x`, now)).to.equal(undefined)
    expect(cache.verifyCached(token.slice(0, -1), now)).to.equal(undefined)
  })

  it('are evicted when the cache is full, the least recently used first', () => {
    const cache = createTokenCache(key, 10)
    const used = tokenOf('1')
    const unused = tokenOf('2')
    const first = cache.verifyCached(used, now)
    const other = cache.verifyCached(unused, now)
    for (let user = 10; user < 30; user += 1) {
      cache.verifyCached(tokenOf(String(user)), now)
      cache.verifyCached(used, now)
    }

    expect(cache.verifyCached(used, now)).to.equal(first)
    expect(cache.verifyCached(unused, now)).not.to.equal(other)
  })

  it('keep as many as the capacity allows', () => {
    const cache = createTokenCache(key, 10)
    const tokens = Array.from({ length: 10 }, (_, user) => tokenOf(String(user)))
    const verified = tokens.map((token) => cache.verifyCached(token, now))

    expect(tokens.every((token, index) => cache.verifyCached(token, now) === verified[index])).to.equal(true)
  })
})
