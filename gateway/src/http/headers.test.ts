import { expect } from 'chai'
import { toClientHeaders } from './headers.ts'

describe('The headers of a response as the client gets them', () => {
  const namesOf = (received: Record<string, string>, dropped?: ReadonlySet<string>): string[] =>
    toClientHeaders(received, dropped).filter((_, index) => index % 2 === 0)

  it('are the defaults where the service names its own hop-by-hop, or may not have them', () => {
    const own = { 'cache-control': 'public', 'content-security-policy': "default-src 'self'" }
    const defaults = ['Cache-Control', 'Content-Security-Policy']

    expect(namesOf(own)).to.deep.equal(['cache-control', 'content-security-policy'])
    expect(namesOf({ ...own, connection: 'Content-Security-Policy, cache-control' })).to.deep.equal(defaults)
    expect(namesOf(own, new Set(['cache-control', 'content-security-policy']))).to.deep.equal(defaults)
  })
})
