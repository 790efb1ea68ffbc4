import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import jwt from 'jsonwebtoken'
import { createTokenKey, signToken, verifyToken } from './bearer-token.ts'

const secret = 'a secret of at least thirty-two characters'
const key = createTokenKey(secret)
const now = Date.parse('2026-11-21T12:00:00.500Z')
const subject = { userId: '382472732995616770', username: 'ada' }

describe('bearer tokens', () => {
  it('Token payload: userId, username, iat in seconds and the configured expiry', () => {
    const claims = verifyToken(key, signToken(key, subject, { expiresIn: '30d', now }), now)

    expect(claims).to.deep.equal({ ...subject, iat: Math.floor(now / 1000), exp: Math.floor(now / 1000) + 30 * 86400 })
  })

  it('end when they expire', () => {
    const token = signToken(key, subject, { expiresIn: '1h', now })

    expect(verifyToken(key, token, now + 3_599_000)).to.not.equal(undefined)
    expect(verifyToken(key, token, now + 3_601_000)).to.equal(undefined)
  })

  it('are refused with another algorithm or secret: none, HS512, RS256', () => {
    const claims = { ...subject, iat: Math.floor(now / 1000), exp: Math.floor(now / 1000) + 60 }
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const forged = [
      jwt.sign(claims, null as unknown as string, { algorithm: 'none' }),
      jwt.sign(claims, secret, { algorithm: 'HS512' }),
      jwt.sign(claims, privateKey, { algorithm: 'RS256' }),
      jwt.sign(claims, `${secret}!`, { algorithm: 'HS256' }),
    ]

    for (const token of forged) expect(verifyToken(key, token, now)).to.equal(undefined)
  })

  it('are refused without a claim that every token has', () => {
    const base = { ...subject, exp: Math.floor(now / 1000) + 60 }
    const incomplete = [base, { exp: base.exp }, { ...base, userId: 7 }, { ...base, userId: 'x' }, { ...subject }]

    for (const claims of incomplete) {
      expect(verifyToken(key, jwt.sign(claims, secret, { noTimestamp: true }), now)).to.equal(undefined)
    }
  })

  it('are refused with times that are no whole seconds, which no service could read', () => {
    const seconds = Math.floor(now / 1000)
    const verified = (times: object) =>
      verifyToken(key, jwt.sign({ ...subject, iat: seconds, exp: seconds + 60, ...times }, secret), now)

    expect(verified({})).to.not.equal(undefined)
    for (const times of [{ iat: 1e300 }, { iat: -1 }, { iat: seconds + 0.5 }, { exp: 1e300 }, { exp: seconds + 60.5 }])
      expect(verified(times), JSON.stringify(times)).to.equal(undefined)
  })

  it('are refused without an exception, whatever the text', () => {
    fc.assert(fc.property(fc.string({ maxLength: 3000 }), (text) => verifyToken(key, text, now) === undefined))
  })
})

describe('a rotation of the secret', () => {
  const old = 'the secret before the rotation, long enough'
  const rotated = createTokenKey(secret, ['a secret before that one, also long enough', old])

  it('leaves the bearer tokens of the previous secrets valid, and no others', () => {
    const tokenOf = (text: string): string => signToken(createTokenKey(text), subject, { expiresIn: '1h', now })

    expect(verifyToken(rotated, tokenOf(old), now)).to.include(subject)
    expect(verifyToken(rotated, tokenOf(secret), now)).to.include(subject)
    expect(verifyToken(rotated, tokenOf(`${old}!`), now)).to.equal(undefined)
    expect(verifyToken(rotated, tokenOf(old), now + 3_601_000), 'expired').to.equal(undefined)
  })

  it('signs with the new secret only', () => {
    const token = signToken(rotated, subject, { expiresIn: '1h', now })

    expect(verifyToken(key, token, now)).to.include(subject)
    expect(verifyToken(createTokenKey(old), token, now)).to.equal(undefined)
  })
})
