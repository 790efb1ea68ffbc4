import { expect } from 'chai'
import fc from 'fast-check'
import vectors from '../../../../docs/federation/vectors.json' with { type: 'json' }
import { signatureWindowMs } from '../policy.ts'
import { hostOf, readSignedHeaders, signAnswer, signBody, verifySignature } from './signature.ts'

// A written-down exchange. The expected value was computed with another implementation of HMAC-SHA256.
const exchange = {
  secret: '8f3b6c1d2e4f5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1',
  origin: 'https://home.example',
  timestamp: 1_767_225_600_000,
  nonce: '6f1c1a52-9d3b-4a57-8d0e-2b6f6a1c9e44',
  body: '{"homeUserId":"81920000000000001","homeInstance":"home.example","mode":"soft","note":"żółw"}',
}
const EXPECTED = '7c5441b6f517b1f327de6c3158cc7fc87c31aa8e644859d55ec43eede12d8f3d'
const EXPECTED_FOR_EMPTY_BODY = '1b22b4e7127460227ed73cfc6a999cde3735adfd8b26b979e76444c25f032ec2'

function received(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(new Headers(headers))
}

function verify(changes: { body?: string; secret?: string; now?: number; timestamp?: number; nonce?: string } = {}) {
  const signed = readSignedHeaders(received(signBody(exchange)))
  if (!signed) throw new Error('The headers cannot be read')
  const { secret, body, timestamp, nonce, now } = { ...exchange, now: exchange.timestamp, ...changes }
  const given = { secrets: ['other', secret], body: Buffer.from(body), signed: { ...signed, timestamp, nonce }, now }
  return verifySignature(given).verdict
}

/** Contract: 7, Signatures. */
describe('federation signatures', () => {
  it('are the ones that were written down', () => {
    expect(signBody(exchange)).to.deep.equal({
      'X-Federation-Origin': 'https://home.example',
      'X-Federation-Timestamp': '1767225600000',
      'X-Federation-Nonce': '6f1c1a52-9d3b-4a57-8d0e-2b6f6a1c9e44',
      'X-Federation-Signature': `sha256=${EXPECTED}`,
    })
    const empty = signBody({ ...exchange, body: Buffer.alloc(0) })
    expect(empty['X-Federation-Signature']).to.equal(`sha256=${EXPECTED_FOR_EMPTY_BODY}`)
  })

  it('are those of the published vectors', () => {
    const withNonce = vectors.signatures.filter(({ nonce }) => nonce !== null)
    const signatures = withNonce.map(({ secret, timestamp, nonce, body }) => {
      return signAnswer({ secret, body, timestamp: Number(timestamp), nonce: nonce ?? '' })['X-Federation-Signature']
    })

    expect(withNonce).to.have.length.greaterThan(10)
    expect(signatures).to.deep.equal(withNonce.map(({ signature }) => signature))
  })

  it('are read from the headers of a request', () => {
    expect(readSignedHeaders(received(signBody(exchange)))).to.deep.equal({
      origin: 'https://home.example',
      timestamp: 1_767_225_600_000,
      nonce: exchange.nonce,
      signature: EXPECTED,
    })
  })

  it('hold for what was signed and for nothing else', () => {
    const flipped = exchange.body.replace('soft', 'full')
    const sameJson = exchange.body.replace(',', ', ')

    expect(verify()).to.equal('ok')
    expect(verify({ body: flipped })).to.equal('bad')
    expect(verify({ body: sameJson })).to.equal('bad')
    expect(verify({ secret: exchange.secret.toUpperCase() })).to.equal('bad')
    expect(verify({ timestamp: exchange.timestamp + 1 })).to.equal('bad')
    expect(verify({ nonce: exchange.nonce.replace('6', '7') })).to.equal('bad')
  })

  it('hold for fifteen minutes either side', () => {
    expect(signatureWindowMs).to.equal(900_000)
    expect(verify({ now: exchange.timestamp + 900_000 })).to.equal('ok')
    expect(verify({ now: exchange.timestamp - 900_000 })).to.equal('ok')
    expect(verify({ now: exchange.timestamp + 900_001 })).to.equal('stale')
    expect(verify({ now: exchange.timestamp - 900_001 })).to.equal('stale')
  })

  it('are bad rather than stale when both', () => {
    expect(verify({ now: 0, secret: 'another' })).to.equal('bad')
  })

  it('survive the way over the wire for any body', () => {
    fc.assert(
      fc.property(
        fc.uint8Array(),
        fc.string(),
        fc.uuid(),
        fc.integer({ min: 1, max: 9e14 }),
        (bytes, secret, nonce, timestamp) => {
          const body = Buffer.from(bytes)
          const signed = readSignedHeaders(
            received(signBody({ secret, origin: exchange.origin, body, timestamp, nonce })),
          )
          return (
            signed !== undefined &&
            verifySignature({ secrets: [secret], body, signed, now: timestamp }).verdict === 'ok'
          )
        },
      ),
    )
  })

  it('are undefined when a header is missing, repeated or malformed', () => {
    const good = received(signBody(exchange))
    const faulty: Record<string, (string | string[] | undefined)[]> = {
      'x-federation-origin': [
        undefined,
        '',
        'home.example',
        'ftp://a.test',
        'https://',
        'https://a.test/x',
        'https://u@a.test',
        'https://a.test, https://b.test',
      ],
      'x-federation-timestamp': [
        undefined,
        '',
        '0',
        '-1',
        '1.5',
        '1e3',
        '0001767225600000',
        '1767225600000, 1',
        '9'.repeat(16),
      ],
      'x-federation-nonce': [
        undefined,
        '',
        '   ',
        'x'.repeat(65),
        `${exchange.nonce}, ${exchange.nonce}`,
        [exchange.nonce],
      ],
      'x-federation-signature': [
        undefined,
        '',
        EXPECTED,
        `sha1=${EXPECTED}`,
        `sha256=${EXPECTED.slice(1)}`,
        `sha256=${EXPECTED}0`,
      ],
    }

    const accepted = Object.entries(faulty).flatMap(([name, values]) =>
      values.filter((value) => readSignedHeaders({ ...good, [name]: value }) !== undefined),
    )

    expect(readSignedHeaders(good)).to.not.equal(undefined)
    expect(accepted).to.deep.equal([])
  })

  it('take any text of at most 64 characters as a nonce, and any spelling of an origin', () => {
    const good = received(signBody(exchange))
    const nonces = ['x', ' n o n c e ', 'x'.repeat(64)]

    const read = nonces.map((nonce) => readSignedHeaders({ ...good, 'x-federation-nonce': nonce })?.nonce)
    const spelled = readSignedHeaders({ ...good, 'x-federation-origin': ' HTTPS://Home.Example:443/ ' })

    expect(read).to.deep.equal(['x', 'n o n c e', 'x'.repeat(64)])
    expect(spelled?.origin).to.equal('https://home.example')
  })

  it('carry no origin on an answer', () => {
    const { secret, body, timestamp, nonce } = exchange

    expect(Object.keys(signAnswer({ secret, body, timestamp, nonce })).map((name) => name.toLowerCase())).to.deep.equal(
      ['x-federation-timestamp', 'x-federation-nonce', 'x-federation-signature'],
    )
  })

  it('never make any headers a fault', () => {
    const header = fc.option(fc.oneof(fc.string(), fc.array(fc.string()), fc.webUrl()), { nil: undefined })
    const names = ['origin', 'timestamp', 'nonce', 'signature'].map((name) => `x-federation-${name}`)
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), header), (headers) => {
        readSignedHeaders(headers)
      }),
    )
  })
})

describe('hosts of origins', () => {
  it('are compared without port and in lower case', () => {
    expect(hostOf('https://Home.Example:8443')).to.equal('home.example')
    expect(hostOf('HOME.example')).to.equal('home.example')
    expect(hostOf('home.example:80')).to.equal('home.example')
  })

  it('are not found in text that only contains one', () => {
    const texts = [
      'x@home.example',
      'home.example/x',
      'home.example?',
      'home.example#',
      'home.example\\',
      ' home.example',
      'https://home.example/x',
      '',
      '%%',
    ]

    expect(texts.filter((text) => hostOf(text) === 'home.example')).to.deep.equal([])
  })
})
