import { expect } from 'chai'
import { anyCharacter } from '@gatehouse/test-kit/any-character'
import fc from 'fast-check'
import { isSafeRedirect, safeRedirect } from './routes.ts'

const here = 'https://home.example'

describe('Client session behaviour: redirect targets', () => {
  for (const target of [
    '/',
    '/channels/@me',
    '/channels/1?x=//y&z=a\u00e9#//top',
    '/a%20b',
    '/admin/users?q=a%2Fb%5C',
  ]) {
    it(`accepts ${target}`, () => expect(safeRedirect(target)).to.equal(target))
  }

  const tricks = [
    '',
    'channels',
    'https://evil.example',
    'javascript:alert(1)',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '/\\/evil.example',
    '\\/evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '\t//evil.example',
    ' //evil.example',
    '/\r\n/evil.example',
    '/\u0000/evil.example',
    '/%2F/evil.example',
    '/%2Fevil.example',
    '/%2fevil.example',
    '/%5Cevil.example',
    '/%252Fevil.example',
    '/%25252F/evil.example',
    '/%09/evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/%2e//evil.example',
    '/a/..//evil.example',
    '/a/%2e%2e//evil.example',
    '/a/..%2f/evil.example',
    '/../%2fevil.example',
    '/../%252fevil.example',
    '/%E0%A4%A',
  ]
  for (const trick of tricks) {
    it(`refuses ${JSON.stringify(trick)}`, () => expect(safeRedirect(trick)).to.equal('/channels/@me'))
  }

  it('accepts only what starts with / and not //, and what a browser resolves to this origin', () => {
    const piece = fc.constantFrom(
      '/',
      '\\',
      '.',
      '..',
      '%2f',
      '%5c',
      '%2e',
      '%25',
      '\t',
      '\n',
      '@',
      ':',
      '?',
      '#',
      'e.x',
      ' ',
    )
    const target = fc.oneof(
      fc.array(piece, { maxLength: 10 }).map((pieces) => `/${pieces.join('')}`),
      fc.string({ unit: anyCharacter }),
      fc.webPath(),
    )
    fc.assert(
      fc.property(target, (candidate) => {
        if (!isSafeRedirect(candidate)) return
        expect(candidate.startsWith('/') && !candidate.startsWith('//')).to.equal(true)
        const resolved = new URL(candidate, here)
        expect(resolved.origin).to.equal(here)
        // A router may put the resolved path, decoded or not, into the location once more.
        expect(new URL(resolved.pathname, here).origin).to.equal(here)
        expect(new URL(decodeURIComponent(resolved.pathname), here).origin).to.equal(here)
      }),
      { numRuns: 5_000 },
    )
  })
})
