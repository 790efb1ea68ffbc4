import { expect } from 'chai'
import fc from 'fast-check'
import { isRefusal } from '@gatehouse/runtime'
import { checkQuery, parseRequestTarget } from './request-target.ts'

const statusOf = (url: string): unknown => {
  try {
    return parseRequestTarget(url)
  } catch (error) {
    return isRefusal(error) ? error.status : error
  }
}

describe('Request targets', () => {
  it('are a path and a query', () => {
    expect(parseRequestTarget('/api/users/@me?x=1&y=%20')).to.deep.equal({
      path: '/api/users/@me',
      search: '?x=1&y=%20',
    })
  })

  it('are normalized, so that another spelling bypasses no limit and no check', () => {
    expect(parseRequestTarget('/api/users/%40me').path).to.equal('/api/users/@me')
    expect(parseRequestTarget('/%61pi/auth/log%69n').path).to.equal('/api/auth/login')
    expect(parseRequestTarget('/api/users/%2540me').path).to.equal('/api/users/%2540me')
  })

  it('may be in absolute form, whose origin is ignored', () => {
    expect(parseRequestTarget('http://elsewhere.example/api/health?a')).to.deep.equal({
      path: '/api/health',
      search: '?a',
    })
  })

  it('may have a query with malformed percent-encodings, which is judged later', () => {
    expect(parseRequestTarget('/?q=%')).to.deep.equal({ path: '/', search: '?q=%' })
    for (const search of ['?q=%', '?q=%zz', '?q=%ff']) expect(() => checkQuery(search), search).to.throw('not encoded')
    expect(() => checkQuery('?q=%20')).to.not.throw()
  })

  for (const url of ['/%', '/%zz', '/%ff', '/a%2fb', '/a%5cb', '/a%00', '/a#b', '*', '', 'http://', '/\u00e9']) {
    it(`refuses ${JSON.stringify(url)}`, () => {
      expect(statusOf(url)).to.equal(400)
    })
  }

  it('are the same when parsed again', () => {
    const url = fc.webPath({ size: 'medium' }).map((path) => `/${path}`)
    fc.assert(
      fc.property(fc.oneof(url, fc.string()), (text) => {
        const first = statusOf(text)
        if (first === 400) return
        const { path, search } = first as { path: string; search: string }
        expect(parseRequestTarget(path + search)).to.deep.equal(first)
      }),
    )
  })
})
