import { expect } from 'chai'
import { anyCharacter } from '@gatehouse/test-kit/any-character'
import fc from 'fast-check'
import { fitsHash } from './constants/text.ts'
import { newPassword, passwordAttempt } from './text.ts'

describe('Passwords', () => {
  const messageFor = (value: unknown) => newPassword('password').safeParse(value).error?.issues[0]?.message

  it('to be set have at least 8 characters, counted in code points', () => {
    expect(messageFor('1234567')).to.equal('Password must be at least 8 characters')
    expect(messageFor('🎉🎉🎉🎉')).to.equal('Password must be at least 8 characters')
    expect(messageFor('🎉'.repeat(8))).to.equal(undefined)
    expect(messageFor('        ')).to.equal(undefined)
  })

  /** Contract: 1, Passwords. */
  it('to be set have at most 72 bytes, as many as bcrypt reads, and are refused with a message that says so', () => {
    expect(messageFor('a'.repeat(72))).to.equal(undefined)
    expect(messageFor('a'.repeat(73))).to.equal('Password must be at most 72 bytes')
    expect(messageFor('é'.repeat(37))).to.equal('Password must be at most 72 bytes')
  })

  it('to be set are texts without NUL, where bcrypt would stop reading', () => {
    expect(messageFor('12345678\u00009')).to.equal('password contains characters that are not allowed')
    expect(messageFor(undefined)).to.equal('password is required')
    expect(messageFor(12345678)).to.equal('password must be a string')
  })

  it('fit when they have 72 bytes or fewer in UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 90 }), (password) => {
        expect(fitsHash(password)).to.equal(Buffer.byteLength(password) <= 72)
      }),
    )
  })

  it('to be verified may be any text: one that cannot be right is simply wrong', () => {
    expect(['', 'a'.repeat(10_000), 'short'].map((value) => passwordAttempt.safeParse(value).success)).to.deep.equal([
      true,
      true,
      true,
    ])
    expect(passwordAttempt.safeParse(undefined).error?.issues[0]?.message).to.equal('password is required')
    expect(passwordAttempt.safeParse({}).error?.issues[0]?.message).to.equal('password must be a string')
  })
})
