import { expect } from 'chai'
import { createTokenKey, signToken } from '@gatehouse/auth'
import { rememberTokens } from './remembered-tokens.ts'

const key = createTokenKey('k'.repeat(32))
const now = 1_700_000_000_000
const tokenOf = (userId: string): string => signToken(key, { userId, username: 'ada' }, { expiresIn: '60s', now })

describe('remembered tokens', () => {
  it('are verified once and known afterwards', () => {
    const find = rememberTokens(key, 100)
    const token = tokenOf('1')

    expect(find(token, now)).to.equal(find(token, now + 59_999))
    expect(find(token, now)?.claims.userId).to.equal('1')
  })

  it('expire although they are remembered', () => {
    const find = rememberTokens(key, 100)
    find(tokenOf('1'), now)

    expect(find(tokenOf('1'), now + 60_000)).to.equal(undefined)
  })

  it('are not taken for remembered when only similar', () => {
    const find = rememberTokens(key, 100)
    const token = tokenOf('1')
    find(token, now)

    expect(find(`${token}x`, now)).to.equal(undefined)
    expect(find(token.slice(0, -1), now)).to.equal(undefined)
  })

  it('are forgotten when many others came since, and kept when used', () => {
    const find = rememberTokens(key, 10)
    const used = tokenOf('1')
    const unused = tokenOf('2')
    const first = find(used, now)
    const other = find(unused, now)
    for (let user = 10; user < 30; user += 1) {
      find(tokenOf(String(user)), now)
      find(used, now)
    }

    expect(find(used, now)).to.equal(first)
    expect(find(unused, now)).not.to.equal(other)
  })
})
