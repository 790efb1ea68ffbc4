import { expect } from 'chai'
import { endpoints } from './endpoints.ts'
import { limits, rateLimits } from './limits.ts'

describe('Limits', () => {
  it('Limits: each limited endpoint has the number and the window of the specification', () => {
    const limited = Object.values(endpoints).flatMap((endpoint) => {
      if (!('limit' in endpoint)) return []
      const { method, path, limit } = endpoint
      return [`${method} ${path}: ${limit.requests} in ${limit.windowSeconds} s`]
    })

    expect(limited).to.have.members([
      'POST /api/auth/register: 10 in 120 s',
      'GET /api/auth/check-username: 30 in 60 s',
      'GET /api/auth/check-invite: 30 in 60 s',
      'POST /api/auth/login: 15 in 120 s',
      'POST /api/users/@me/verify-password: 15 in 120 s',
      'POST /api/users/@me/change-password: 5 in 900 s',
      'DELETE /api/users/@me: 3 in 900 s',
      'POST /api/users/@me/federation-identity/delete: 5 in 900 s',
      'POST /api/federation/peer/accept: 10 in 60 s',
    ])
  })

  it('Limits: are counted apart from each other', () => {
    const names = Object.values(rateLimits).map(({ name }) => name)

    expect(new Set(names)).to.have.property('size', names.length)
  })

  it('Limits: the constants are those of the specification', () => {
    expect(limits).to.include({
      passwordMinCodePoints: 8,
      localUsernameMin: 3,
      localUsernameMax: 32,
      federatedUsernameMax: 100,
      hostMax: 253,
      inviteTokenCharacters: 22,
      socketAuthTimeoutMs: 10_000,
    })
  })
})
