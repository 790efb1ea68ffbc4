import { isFederatedUsername } from '@gatehouse/contracts'
import { expect } from 'chai'
import fc from 'fast-check'
import { stubBaseName, stubUsername } from './stub-names.ts'

describe('names of stubs', () => {
  const base = (username: string | null, homeUserId = '42') =>
    stubBaseName({ username, homeUserId, homeInstance: 'h.example' })

  it('take the base of the remote name as far as our rule allows', () => {
    expect(base('Ada@home.example')).to.equal('ada')
    expect(base('ada.love-lace')).to.equal('ada_love_lace')
    expect(base('x'.repeat(60))).to.equal('x'.repeat(32))
  })

  it('fall back to the id at home', () => {
    expect(base(null)).to.equal('user_42')
    expect(base('')).to.equal('user_42')
    expect(base('ab')).to.equal('user_42')
    expect(base('@home.example', 'A-1')).to.equal('user_a_1')
  })

  it('make room for the number', () => {
    expect(stubUsername('x'.repeat(32), { host: 'h', attempt: 12 })).to.equal(`${'x'.repeat(29)}_12@h`)
    expect(stubUsername('abcdef', { host: 'h'.repeat(94), attempt: 0 })).to.equal(`abcde@${'h'.repeat(94)}`)
    expect(stubUsername('abcdef', { host: 'h'.repeat(97), attempt: 0 })).to.equal(null)
  })

  it('are federated usernames whatever comes in', () => {
    const anything = fc.record({
      username: fc.option(fc.string({ unit: 'grapheme', maxLength: 60 })),
      homeUserId: fc.string({ minLength: 1, maxLength: 64 }),
      homeInstance: fc.constant('home.example'),
    })
    fc.assert(
      fc.property(anything, fc.nat(49), (remote, attempt) =>
        isFederatedUsername(stubUsername(stubBaseName(remote), { host: remote.homeInstance, attempt })!),
      ),
    )
  })
})
