import { createHmac, createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { createCallerVerifier, signCaller, signOperator, type Caller } from './caller-token.ts'
import { callerKeyLines, createSigningKeys, readCallerKey } from './signing-keys.ts'

const secret = 'an internal secret of more than thirty-two'
const keys = createSigningKeys('gateway', secret)
const operatorKeys = createSigningKeys('operator', secret)
const lines = callerKeyLines('gateway', [secret])
const everybody = { lines: [...lines, ...callerKeyLines('operator', [secret])] }
const now = Date.parse('2026-11-21T12:00:00Z')
const to = (audience: string) => ({ issuer: 'https://here.example', audience, now })
const account = { userId: '382472732995616770', username: 'ada', isAdmin: true, tokenIssuedAt: 1_700_000_000 }
const caller: Caller = { address: '203.0.113.7', account }

describe('caller tokens', () => {
  const verify = createCallerVerifier(everybody, 'identity')

  it('verify to the caller that was signed, for thirty seconds', () => {
    const token = signCaller(keys, caller, to('identity'))

    // Thirty seconds, and as much as the clocks of the gateway and of the service may differ.
    for (const later of [-90_000, 0, 30_000 + 89_999]) {
      expect(createCallerVerifier(everybody, 'identity')(token, now + later)).to.deep.equal(caller)
    }
    expect(verify(token, now + 30_000 + 90_000)).to.equal(undefined)
  })

  it('name their audience, and count nowhere else', () => {
    const token = signCaller(keys, caller, to('federation-fanout'))

    expect(verify(token, now)).to.equal(undefined)
    expect(createCallerVerifier(everybody, 'federation-fanout')(token, now)).to.deep.equal(caller)
  })

  it('name the operator by the key of the operator alone, who is no account', () => {
    const ofOperator = signOperator(operatorKeys, to('identity'))
    const claimed = signCaller(keys, { ...caller, operator: true } as Caller, to('identity'))

    expect(verify(ofOperator, now)).to.deep.equal({ address: '127.0.0.1', account: null, operator: true })
    expect(verify(claimed, now)).to.deep.equal(caller)
    expect(verify(signOperator(keys, to('identity')), now)).to.deep.equal({ address: '127.0.0.1', account: null })
    expect(verify(signCaller(operatorKeys, caller, to('identity')), now)).to.equal(undefined)
    expect(createCallerVerifier({ lines }, 'identity')(ofOperator, now), 'an unknown operator').to.equal(undefined)
  })

  it('name an upstream and its rights, by the key of the gateway alone, and nobody beside it', () => {
    const asking = { address: '203.0.113.7', account: null, upstream: { name: 'chat', rights: ['accounts'] } }
    const faulty = [{ name: 'chat' }, { name: 7, rights: [] }, null].map((upstream) => ({ ...asking, upstream }))

    expect(verify(signCaller(keys, asking, to('identity')), now)).to.deep.equal(asking)
    expect(verify(signCaller(operatorKeys, asking, to('identity')), now)).to.equal(undefined)
    expect(verify(signCaller(keys, { ...asking, account }, to('identity')), now)).to.equal(undefined)
    for (const one of faulty) {
      const verified = verify(signCaller(keys, one as unknown as Caller, to('identity')), now)
      expect(verified?.upstream, JSON.stringify(one)).to.equal(undefined)
    }
  })

  it('cannot be made with what a service holds', () => {
    const token = signCaller(keys, caller, to('identity'))
    const [header = '', claims = ''] = token.split('.')
    const forgeries = everybody.lines.flatMap((line) => {
      const { key, kid } = readCallerKey(line)!
      const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
      const asSecret = [
        line.split(' ')[1]!,
        key.export({ format: 'pem', type: 'spki' }),
        key.export({ format: 'jwk' }).x!,
      ]
      return asSecret.flatMap((text) => [
        ...[header, encode({ alg: 'HS256', typ: 'JWT', kid })].map((first) => {
          const mac = createHmac('sha256', text).update(`${first}.${claims}`).digest('base64url')
          return `${first}.${claims}.${mac}`
        }),
        `${encode({ alg: 'none', typ: 'JWT', kid })}.${claims}.`,
        // A secret that somebody makes of the public key.
        signCaller(createSigningKeys('gateway', String(text)), caller, to('identity')),
      ])
    })

    expect(forgeries).to.have.length(24)
    for (const forged of forgeries) expect(verify(forged, now), forged).to.equal(undefined)
    expect(() =>
      createPrivateKey({ key: Buffer.from(lines[0]!.slice(8), 'base64'), format: 'der', type: 'pkcs8' }),
    ).to.throw()
    expect(verify(token, now)).to.deep.equal(caller)
  })

  it('are refused when a byte differs or another key signed, without an exception', () => {
    const token = signCaller(keys, caller, to('identity'))
    const [header, claims = '', signature] = token.split('.')
    const swapped = (claims.endsWith('A') ? 'B' : 'A') + claims.slice(1)
    const other = createSigningKeys('gateway', 'another internal secret of that length')

    for (const forged of [
      `${header}.${swapped}.${signature}`,
      signCaller(other, caller, to('identity')),
      '',
      '.',
      '..',
      '...',
      `${token}.`,
      `${token}x`,
      token.slice(0, -2),
      `${header}.${claims}`,
      'x'.repeat(10_000),
    ])
      expect(verify(forged, now), forged).to.equal(undefined)
    fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => verify(text, now) === undefined))
    fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => verify(`${header}.${text}`, now) === undefined))
  })

  it('that come again are verified once, end at the same moment, and match no similar token', () => {
    const token = signCaller(keys, caller, to('identity'))
    const end = now + 30_000 + 90_000
    const first = verify(token, now)

    expect(first).to.deep.equal(caller)
    expect(verify(token, end - 1)).to.equal(first)
    expect([verify(`${token}x`, now), verify(token.slice(0, -2), now)]).to.deep.equal([undefined, undefined])
    expect([verify(token, end), verify(token, end + 1)]).to.deep.equal([undefined, undefined])
    expect(() => Object.assign(first!.account!, { isAdmin: true })).to.throw(TypeError)
  })

  it('are refused when their claims are not those of a caller', () => {
    const claims = [
      { address: 7, account: null },
      { address: 'a', account: { userId: '1' } },
      { address: 'a', account: { ...account, tokenIssuedAt: undefined } },
      { account: null },
    ]
    const signed = claims.map((claim) => signCaller(keys, claim as unknown as Caller, to('identity')))

    expect(signed.map((token) => verify(token, now))).to.deep.equal(claims.map(() => undefined))
  })
})

describe('the keys that sign callers', () => {
  it('are derived from any text, each signer another one, or are what openssl makes', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const given = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')
    const publicText = publicKey.export({ format: 'der', type: 'spki' }).toString('base64')

    expect(callerKeyLines('gateway', [given])).to.deep.equal([`gateway ${publicText}`])
    expect(callerKeyLines('operator', [given])).to.deep.equal([`operator ${publicText}`])
    expect(callerKeyLines('gateway', [secret])[0]!.slice(8)).to.not.equal(
      callerKeyLines('operator', [secret])[0]!.slice(9),
    )
    expect(createSigningKeys('gateway', given).published[0]!.x).to.equal(publicKey.export({ format: 'jwk' }).x)
  })

  it('rotate: the lines of both verify, the present one signs', () => {
    const next = 'the next internal secret, long enough too'
    const both = { lines: callerKeyLines('gateway', [next, secret]) }
    const [former, fresh] = [keys, createSigningKeys('gateway', next, [secret])].map((each) =>
      signCaller(each, caller, to('invite')),
    ) as [string, string]
    const verifiers = [both, { lines }, { lines: callerKeyLines('gateway', [next]) }].map((each) =>
      createCallerVerifier(each, 'invite'),
    )

    expect(verifiers.map((verify) => [verify(former, now), verify(fresh, now)])).to.deep.equal([
      [caller, caller],
      [caller, undefined],
      [undefined, caller],
    ])
    expect(createSigningKeys('gateway', next, [secret]).published).to.have.length(2)
  })

  it('are refused in any other form', () => {
    const [line = ''] = lines
    const [, text = ''] = line.split(' ')
    const bad = [
      '',
      text,
      `invite ${text}`,
      `gateway  ${text}`,
      `gateway ${text.slice(4)}`,
      `gateway ${'A'.repeat(59)}=`,
    ]

    expect([...bad, line].map((each) => readCallerKey(each) !== undefined)).to.deep.equal([
      ...bad.map(() => false),
      true,
    ])
  })
})
