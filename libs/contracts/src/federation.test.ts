import { expect } from 'chai'
import { acceptPeerBody, deleteIdentityBody, fanoutBody } from './federation.ts'

describe('The body of a fan-out', () => {
  const messageFor = (origins: number) =>
    fanoutBody.safeParse({ origins: Array(origins).fill('https://b.example'), mode: 'soft' }).error?.issues[0]?.message

  it('names 1 to 100 origins', () => {
    expect([1, 100].map(messageFor)).to.deep.equal([undefined, undefined])
    expect(messageFor(0)).to.equal('origins must name at least one instance')
    expect(messageFor(101)).to.equal('origins may name at most 100 instances')
  })
})

describe('The body of an identity deletion', () => {
  it('has a homeInstance of 1 to 253 characters and one of two modes', () => {
    const isValid = (part: object) =>
      deleteIdentityBody.safeParse({ homeUserId: '1', homeInstance: 'b.example', mode: 'full', ...part }).success

    expect([{}, { mode: 'soft' }, { homeInstance: 'a'.repeat(253) }].map(isValid)).to.deep.equal([true, true, true])
    expect([{ mode: 'hard' }, { homeInstance: '' }, { homeInstance: 'a'.repeat(254) }].map(isValid)).to.deep.equal([
      false,
      false,
      false,
    ])
  })
})

describe('The offer of a peering', () => {
  it('has a secret of 64 lower-case hexadecimal digits, which cannot be taken for an encrypted one', () => {
    const isValid = (hmacSecret: string) =>
      acceptPeerBody.safeParse({ sourceOrigin: 'https://b.example', hmacSecret }).success
    const others = ['a'.repeat(63), 'a'.repeat(65), 'A'.repeat(64), `enc1.${'a'.repeat(59)}`]

    expect(isValid('0123456789abcdef'.repeat(4))).to.equal(true)
    expect(others.filter(isValid)).to.deep.equal([])
  })
})
