import { isSafeRedirect } from '@gatehouse/client/routes'
import type { User } from '@gatehouse/client'
import { expect } from 'chai'
import { isOfAnother, loginThatReturns, readAsked } from './request.ts'

describe('What an application asks', () => {
  it('is read from behind the #', () => {
    expect(readAsked('#aB3_-x')).to.deep.equal({ kind: 'interaction', uid: 'aB3_-x' })
    expect(readAsked('#logout=done')).to.deep.equal({ kind: 'logout' })
    expect(readAsked('#error=invalid_client')).to.deep.equal({ kind: 'error', code: 'invalid_client' })
    for (const none of ['', '#', '#a b', '#../x', '#logout=', `#${'a'.repeat(65)}`])
      expect(readAsked(none)).to.equal(null)
  })

  it('is still there after the login', () => {
    const login = loginThatReturns({ pathname: '/authorize', search: '', hash: '#aB3_-x' })
    const redirect = new URLSearchParams(login.slice('/login?'.length)).get('redirect')

    expect(login).to.match(/^\/login\?/)
    expect(redirect).to.equal('/authorize#aB3_-x')
    expect(isSafeRedirect(redirect ?? '')).to.equal(true)
  })

  it('can be meant for another account', () => {
    const alice = { id: '7', username: 'alice' } as User
    const isOther = (loginHint?: string) => isOfAnother(loginHint === undefined ? {} : { loginHint }, alice)

    expect([undefined, '', ' ', 'alice', '@Alice ', '7'].map(isOther)).to.not.include(true)
    expect(['bert', 'alice@b.example'].map(isOther)).to.not.include(false)
  })
})
