import { expect } from 'chai'
import { anyCharacter } from '@gatehouse/test-kit/any-character'
import fc from 'fast-check'
import { normalizeHost, normalizeOrigin } from './origins.ts'

describe('Origins', () => {
  it('have one spelling: lower case, no default port, no trailing slash', () => {
    const spellings = {
      'https://chat.example': 'https://chat.example',
      ' HTTPS://Chat.Example:443/ ': 'https://chat.example',
      'http://Chat.example:80': 'http://chat.example',
      'http://127.0.0.1:8080': 'http://127.0.0.1:8080',
      'https://[2001:DB8::1]:8443/': 'https://[2001:db8::1]:8443',
      'https://bücher.example': 'https://xn--bcher-kva.example',
    }

    expect(Object.keys(spellings).map(normalizeOrigin)).to.deep.equal(Object.values(spellings))
  })

  it('are nothing more and nothing less than a scheme, a host and a port', () => {
    const wrong = [
      '',
      'chat.example',
      'https://',
      'https://:8443',
      'https://chat.example:99999',
      'https://chat.example/path',
      'https://chat.example//',
      'https://chat.example?',
      'https://chat.example/?q',
      'https://chat.example#top',
      'https://user@chat.example',
      'https://user:password@chat.example',
      'https://chat.example\\path',
      'https://chat\t.example',
      'https://chat .example',
      'ftp://chat.example',
      'wss://chat.example',
      'javascript:alert(1)',
      `https://${'a'.repeat(301)}`,
    ]

    expect(wrong.filter((text) => normalizeOrigin(text) !== null)).to.deep.equal([])
  })

  it('are a fixed point: the normalized origin is its own spelling and the one of the URL', () => {
    const text = fc.oneof(
      fc.webUrl({ validSchemes: ['http', 'https', 'ftp'], withQueryParameters: true }),
      fc
        .tuple(fc.constantFrom('http://', 'HTTPS://'), fc.domain(), fc.constantFrom('', '/', ':443', ':80', '/a'))
        .map((parts) => parts.join('')),
      fc.string({ unit: anyCharacter }),
    )
    fc.assert(
      fc.property(text, (input) => {
        const origin = normalizeOrigin(input)
        if (origin === null) return
        expect(normalizeOrigin(origin)).to.equal(origin)
        expect(new URL(input).origin).to.equal(origin)
      }),
    )
  })
})

describe('Hosts of two sources', () => {
  it('are compared in lower case and without a port', () => {
    expect(['Chat.Example', 'chat.example:8443', '127.0.0.1:80'].map(normalizeHost)).to.deep.equal([
      'chat.example',
      'chat.example',
      '127.0.0.1',
    ])
  })
})
