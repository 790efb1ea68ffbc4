import { isFederatedUsername } from '@gatehouse/contracts'
import { expect } from 'chai'
import fc from 'fast-check'
import { stubBaseName, stubUsername } from './resolve-replicated-user.ts'

describe('names of stubs', () => {
  const hex = '0badcafe'
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
    expect(stubUsername('x'.repeat(32), { host: 'h', attempt: 10, hex })).to.equal(`${'x'.repeat(29)}~10@h`)
    expect(stubUsername('abc', { host: 'h', attempt: 11, hex })).to.equal('abc~0badcafe@h')
    expect(stubUsername('x'.repeat(32), { host: 'h', attempt: 12, hex })).to.equal(`${'x'.repeat(23)}~0badcafe@h`)
    expect(stubUsername('abcdef', { host: 'h'.repeat(94), attempt: 0, hex })).to.equal(`abcde@${'h'.repeat(94)}`)
    expect(stubUsername('abcdef', { host: 'h'.repeat(97), attempt: 0, hex })).to.equal(null)
  })

  it('are federated usernames whatever comes in', () => {
    const anything = fc.record({
      username: fc.option(fc.string({ unit: 'grapheme', maxLength: 60 })),
      homeUserId: fc.string({ minLength: 1, maxLength: 64 }),
      homeInstance: fc.constant('home.example'),
    })
    fc.assert(
      fc.property(anything, fc.nat(49), (remote, attempt) =>
        isFederatedUsername(stubUsername(stubBaseName(remote), { host: remote.homeInstance, attempt, hex })!),
      ),
    )
  })
})
