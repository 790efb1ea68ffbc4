import { expect } from 'chai'
import { guardRoute } from './routes.ts'

describe('Client session behaviour: the route guard', () => {
  it('redirects protected routes to /login with no token', () => {
    expect(guardRoute({ pathname: '/channels/@me', search: '', token: null })).to.deep.equal({
      allowed: false,
      redirect: '/login',
    })
    expect(guardRoute({ pathname: '/channels/@me', search: '', token: 't' })).to.deep.equal({ allowed: true })
  })

  it('redirects to the requested page after the log-in', () => {
    const verdict = guardRoute({ pathname: '/admin/users', search: '?q=a&p=2', token: null })

    expect(verdict).to.deep.equal({ allowed: false, redirect: '/login?redirect=%2Fadmin%2Fusers%3Fq%3Da%26p%3D2' })
    expect(
      guardRoute({ pathname: '/login', search: '?redirect=%2Fadmin%2Fusers%3Fq%3Da%26p%3D2', token: 't' }),
    ).to.deep.equal({ allowed: false, redirect: '/admin/users?q=a&p=2' })
  })

  for (const pathname of ['/login', '/register', '/register/']) {
    it(`redirects ${pathname} to the redirect query parameter or /channels/@me when a token is present`, () => {
      const redirectOf = (search: string) => guardRoute({ pathname, search, token: 't' })

      expect(redirectOf('?redirect=/channels/5')).to.deep.equal({ allowed: false, redirect: '/channels/5' })
      expect(redirectOf('')).to.deep.equal({ allowed: false, redirect: '/channels/@me' })
      expect(guardRoute({ pathname, search: '', token: null })).to.deep.equal({ allowed: true })
    })
  }

  it('accepts a redirect target only if it starts with / and not //', () => {
    for (const target of ['//evil.example', 'https://evil.example', '/%5Cevil.example', '/%09/evil.example']) {
      const search = `?${new URLSearchParams({ redirect: target })}`
      expect(guardRoute({ pathname: '/login', search, token: 't' })).to.deep.equal({
        allowed: false,
        redirect: '/channels/@me',
      })
    }
  })

  it('shows public pages without a token', () => {
    expect(guardRoute({ pathname: '/about', search: '', token: null, isPublic: true })).to.deep.equal({ allowed: true })
  })
})
