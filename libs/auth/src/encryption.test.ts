import { expect } from 'chai'
import fc from 'fast-check'
import { createEncryptionKey, decrypt, encrypt, isEncrypted } from './encryption.ts'

const former = 'the former secret of the tests of encryption'
const next = 'the next secret of the tests of encryption'

describe('encryption at rest', () => {
  it('gives every text back, also after a rotation', () => {
    const [key, rotated] = [createEncryptionKey(former), createEncryptionKey(next, [former])]
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (plain, context) => {
        const encrypted = encrypt(key, plain, context)
        expect(isEncrypted(encrypted)).to.equal(true)
        expect(decrypt(key, encrypted, context)).to.equal(plain)
        expect(decrypt(rotated, encrypted, context)).to.equal(plain)
      }),
    )
  })

  it('encrypts equal texts differently', () => {
    const key = createEncryptionKey(former)

    expect(encrypt(key, 'secret', 'row:1')).to.not.equal(encrypt(key, 'secret', 'row:1'))
  })

  it('refuses another row, another secret and a changed text', () => {
    const key = createEncryptionKey(former)
    const encrypted = encrypt(key, 'secret', 'row:1')
    const flipped = encrypted.replace(/.{4}$/, (end) => (end === 'AAAA' ? 'BBBB' : 'AAAA'))

    expect(decrypt(key, encrypted, 'row:1')).to.equal('secret')
    expect(() => decrypt(key, encrypted, 'row:2')).to.throw()
    expect(() => decrypt(createEncryptionKey(next), encrypted, 'row:1')).to.throw(/ENCRYPTION_SECRET/)
    expect(() => decrypt(key, flipped, 'row:1')).to.throw()
    expect(() => decrypt(key, 'a plain text', 'row:1')).to.throw()
  })
})
