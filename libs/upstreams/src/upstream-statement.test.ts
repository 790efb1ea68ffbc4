import { createHmac, generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Upstream } from './contract.ts'
import { createStatementVerifier, signStatement } from './upstream-statement.ts'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const foreign = generateKeyPairSync('ed25519').privateKey
const key = publicKey.export({ format: 'jwk' }).x!
const unasked: Upstream = {
  name: 'voice',
  origins: ['http://voice:1'],
  routes: [],
  messages: [],
  ready: [],
  events: [],
  answers: [],
}
const chat: Upstream = { ...unasked, name: 'chat', asks: { key, rights: ['accounts'] } }
const origin = 'https://here.example'
const now = Date.parse('2026-11-21T12:00:00Z')
const iat = now / 1000
const claims = { iss: 'chat', aud: origin, iat, exp: iat + 60 }
const verify = createStatementVerifier([unasked, chat], origin)
const judge = (changed: object) => verify(signStatement(privateKey, { ...claims, ...changed }), now)

describe('statements of upstreams', () => {
  it('name the upstream and its rights, for a minute, and may come again', () => {
    const statement = signStatement(privateKey, claims)
    const told = { name: 'chat', rights: ['accounts'] }

    expect([verify(statement, now), verify(statement, now + 59_999)]).to.deep.equal([told, told])
    expect(verify(statement, now + 60_000)).to.equal('stale')
  })

  it('are stale where they last longer than a minute, or are of a clock that is a minute ahead', () => {
    expect(judge({ exp: iat + 61 })).to.equal('stale')
    expect(judge({ iat: iat - 60, exp: iat })).to.equal('stale')
    expect(judge({ iat: iat + 61, exp: iat + 62 })).to.equal('stale')
    expect(judge({ iat: iat + 60, exp: iat + 120 })).to.have.property('name', 'chat')
  })

  it('count for this instance and of upstreams with a key alone', () => {
    expect(judge({ aud: 'https://other.example' })).to.equal('invalid')
    expect(judge({ aud: [origin] })).to.equal('invalid')
    expect(judge({ iss: 'voice' })).to.equal('invalid')
    expect(judge({ iss: '__proto__' })).to.equal('invalid')
    expect(judge({ exp: undefined })).to.equal('invalid')
    expect(createStatementVerifier([unasked], origin)(signStatement(privateKey, claims), now)).to.equal('invalid')
  })

  it('cannot be made without the private key', () => {
    const [header = '', payload = '', signature = ''] = signStatement(privateKey, claims).split('.')
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
    const hmac = (secret: Buffer | string) => {
      const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${payload}`
      return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
    }
    const forged = [
      signStatement(foreign, claims),
      `${encode({ alg: 'none' })}.${payload}.`,
      `${encode({ alg: 'none' })}.${payload}.${signature}`,
      `${header}.${encode({ ...claims, iat: iat + 1 })}.${signature}`,
      `${header}.${payload}.${signature}.`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      hmac(key),
      hmac(Buffer.from(key, 'base64url')),
      signStatement(privateKey, { ...claims, more: 'x'.repeat(3_000) }),
      '',
    ]

    expect(forged.map((statement) => verify(statement, now))).to.deep.equal(forged.map(() => 'invalid'))
    fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => verify(text, now) === 'invalid'))
    fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => verify(`${header}.${text}.x`, now) === 'invalid'))
  })
})
