import { expect } from 'chai'
import { endpoints } from '../endpoints/endpoints.ts'
import type { Endpoint } from '../endpoints/endpoints.ts'
import { avatarColors } from './profile-fields.ts'
import * as limits from './limits.ts'
import { closures } from './socket-errors.ts'

describe('Limits', () => {
  it('Limits: each limited endpoint has the number and the window of the specification', () => {
    const limited = Object.values<Endpoint>(endpoints).flatMap(({ method, path, limit }) =>
      limit ? [`${method} ${path}: ${limit.requests} in ${limit.windowSeconds} s`] : [],
    )

    expect(limited).to.have.members([
      'PATCH /api/users/@me: 60 in 60 s',
      'PUT /api/users/@me/federation-registry: 60 in 60 s',
      'POST /api/auth/register: 10 in 120 s',
      'GET /api/auth/check-username: 30 in 60 s',
      'GET /api/auth/check-invite: 30 in 60 s',
      'POST /api/auth/registration: 30 in 60 s',
      'GET /api/auth/challenge: 300 in 60 s',
      'POST /api/auth/login: 15 in 120 s',
      'POST /api/auth/recover: 15 in 120 s',
      'POST /api/auth/recover/request: 15 in 120 s',
      'POST /api/auth/email/confirm: 30 in 60 s',
      'PUT /api/users/@me/email: 15 in 120 s',
      'DELETE /api/users/@me/email: 15 in 120 s',
      'POST /api/users/@me/verify-password: 15 in 120 s',
      'POST /api/users/@me/second-factor: 15 in 120 s',
      'POST /api/users/@me/second-factor/confirm: 15 in 120 s',
      'POST /api/users/@me/second-factor/recovery-codes: 15 in 120 s',
      'DELETE /api/users/@me/second-factor: 15 in 120 s',
      'POST /api/auth/passkey/options: 300 in 60 s',
      'POST /api/users/@me/renew: 15 in 120 s',
      'POST /api/auth/passkey: 15 in 120 s',
      'POST /api/users/@me/passkeys/options: 15 in 120 s',
      'POST /api/users/@me/passkeys: 15 in 120 s',
      'DELETE /api/users/@me/passkeys/:id: 15 in 120 s',
      'GET /api/auth/providers: 300 in 60 s',
      'POST /api/auth/providers/:provider/start: 30 in 60 s',
      'GET /api/auth/providers/:provider/callback: 30 in 60 s',
      'POST /api/auth/providers/finish: 15 in 120 s',
      'DELETE /api/users/@me/identities/:id: 15 in 120 s',
      'POST /api/auth/providers/:provider/back-channel-logout: 300 in 60 s',
      'POST /api/users/@me/change-password: 5 in 900 s',
      'POST /api/users/@me/sessions/end: 5 in 900 s',
      'DELETE /api/users/@me: 3 in 900 s',
      'POST /api/users/@me/federation-identity/delete: 5 in 900 s',
      'POST /api/auth/attach-proof: 5 in 900 s',
      'POST /api/users/@me/reattach: 5 in 900 s',
      'DELETE /api/users/@me/applications/:id: 60 in 60 s',
      'GET /oauth2/interaction/:uid/details: 60 in 60 s',
      'POST /oauth2/interaction/:uid/decision: 60 in 60 s',
      'POST /oauth2/device-code: 15 in 120 s',
      'POST /oauth2/device-code/decision: 15 in 120 s',
      'POST /api/upstream/accounts: 600 in 60 s',
      'GET /api/upstream/accounts/changes: 600 in 60 s',
      'POST /api/upstream/presence: 600 in 60 s',
      'POST /api/federation/peer/accept: 10 in 60 s',
      'POST /api/invites: 60 in 60 s',
      'POST /api/invites/:id/revoke: 60 in 60 s',
      'POST /api/uploads: 30 in 3600 s',
      'POST /api/users/@me/export: 2 in 86400 s',
    ])
  })

  it('Limits: are counted separately', () => {
    const names = Object.values<Endpoint>(endpoints).flatMap(({ limit }) => limit?.name ?? [])

    expect(new Set(names)).to.have.property('size', names.length)
  })

  it('Limits: the constants are those of the specification', () => {
    expect(limits).to.include({
      passwordMinCodePoints: 8,
      localUsernameMin: 3,
      localUsernameMax: 32,
      federatedUsernameMax: 100,
      hostMax: 253,
      socketAuthTimeoutMs: 10_000,
    })
    expect(avatarColors).to.deep.equal(['mint', 'sky', 'lavender', 'coral', 'rose', 'teal', 'amber'])
  })

  it('are those of the contract where the specification is silent', () => {
    expect(limits).to.include({
      jsonBodyBytes: 65_536,
      passwordMaxBytes: 72,
      displayNameMax: 32,
      bioMax: 190,
      customStatusMax: 128,
      replicatedInstancesMax: 20,
      uploadBytes: 8_388_608,
      inviteNameMax: 64,
      fanoutOriginsMax: 100,
      pageSizeMax: 100,
      socketFirstMessageBytes: 4_096,
      socketMessageBytes: 16_384,
      socketBurst: 30,
      socketRefillPerSecond: 2,
      unauthenticatedSocketsPerAddress: 100,
      socketsPerAccount: 50,
      socketHeartbeatMs: 30_000,
      presenceGraceMs: 5_000,
    })
  })
})

describe('Close codes', () => {
  it('are those of the contract, each with its message', () => {
    const stated = Object.fromEntries(Object.values(closures).map(({ code, message }) => [code, message]))

    expect(stated).to.include({
      4001: 'Authentication timeout',
      4002: 'First message must be auth',
      4003: 'Invalid token',
      4004: 'Token has been revoked',
      4005: 'This account has been deleted',
      4008: 'Too many connections',
      4010: 'Password reset',
      4011: 'Account deleted',
      1012: 'Server is restarting',
    })
    expect(Object.keys(stated)).to.have.length(Object.keys(closures).length)
  })
})
