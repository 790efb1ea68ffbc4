import { expect } from 'chai'
import { z } from 'zod'
import { endpoints } from './endpoints.ts'
import type { Endpoint } from './endpoints.ts'
import { endpointTable } from './table.ts'
import type { EndpointName, EndpointRow } from './table.ts'

const all: Endpoint[] = Object.values(endpoints)
const titleOf = (endpoint: Endpoint) => `${endpoint.method} ${endpoint.path}`

describe('The endpoint table', () => {
  it('names each method and path once, whatever its parameters are called', () => {
    const addresses = all.map((endpoint) => titleOf(endpoint).replace(/:\w+/g, ':'))

    expect(addresses).to.have.length(new Set(addresses).size)
  })

  it('keeps everything under /api and /oauth2, and nothing internal there', () => {
    for (const { path } of all) expect(path).to.match(/^\/(api|oauth2)(\/(@me|:\w+|[a-z-]+))+$/)
  })

  it('has a schema for each parameter in a path, and for no other', () => {
    for (const endpoint of all) {
      const inPath = [...endpoint.path.matchAll(/:(\w+)/g)].map(([, name]) => name)
      expect(Object.keys(endpoint.params?.shape ?? {}), titleOf(endpoint)).to.deep.equal(inPath)
    }
  })

  it('gives administration to admins only', () => {
    for (const endpoint of all.filter(({ path }) => path.startsWith('/api/admin/'))) {
      expect(endpoint.access, titleOf(endpoint)).to.equal('admin')
    }
  })

  it('is the table of rows, each with its schemas', () => {
    expect(Object.keys(endpoints)).to.deep.equal(Object.keys(endpointTable))
    for (const [name, row] of Object.entries<EndpointRow>(endpointTable)) {
      const endpoint: Endpoint = endpoints[name as EndpointName]
      const { limit, ...rest } = row
      expect(endpoint, name).to.include(rest)
      expect(endpoint.limit, name).to.deep.equal(limit && { name, ...limit })
      expect(endpoint, name).to.include.keys('summary', 'replies')
    }
  })

  it('reads each query from the text of its own values, so that a client may send what the service reads', () => {
    const asText = (query: object) =>
      Object.fromEntries(Object.entries(query).map(([field, value]) => [field, String(value)]))
    const values = { showDeleted: 'true', role: 'admin', page: '3', sort: 'az', status: 'archived', cursor: '5' }
    for (const { query } of all.filter(({ query }) => query)) {
      const read = query!.parse(values)
      expect(query!.parse(asText(read))).to.deep.equal(read)
    }
  })

  it('reads bodies where there is one to read, and answers each with a success', () => {
    for (const endpoint of all) {
      if (endpoint.method === 'GET') expect(endpoint.body, titleOf(endpoint)).to.equal(undefined)
      const statuses = Object.keys(endpoint.replies)
      const isSuccess = (status: string) =>
        status.startsWith('2') || (status === '303' && endpoint.replies[303] === 'redirect')
      expect(statuses.every(isSuccess) && statuses.length > 0, titleOf(endpoint)).to.equal(true)
    }
  })

  it('can be written as JSON Schema, inputs and replies alike', () => {
    for (const endpoint of all) {
      const inputs = [endpoint.params, endpoint.query, endpoint.body].filter((part) => part instanceof z.ZodType)
      const replies = Object.values(endpoint.replies).filter((part) => part instanceof z.ZodType)
      for (const schema of inputs)
        expect(() => z.toJSONSchema(schema, { io: 'input' }), titleOf(endpoint)).to.not.throw()
      for (const schema of replies) expect(() => z.toJSONSchema(schema), titleOf(endpoint)).to.not.throw()
    }
  })

  it('has these endpoints with these callers, and no others', () => {
    expect(all.map((endpoint) => `${titleOf(endpoint)} ${endpoint.access}`)).to.have.members([
      'POST /api/auth/register anyone',
      'GET /api/auth/check-username anyone',
      'POST /api/auth/registration anyone',
      'GET /api/auth/check-invite anyone',
      'GET /api/auth/challenge anyone',
      'POST /api/auth/login anyone',
      'POST /api/auth/passkey/options anyone',
      'POST /api/auth/passkey anyone',
      'POST /api/auth/recover anyone',
      'POST /api/auth/recover/request anyone',
      'POST /api/auth/email/confirm anyone',
      'PUT /api/users/@me/email bearer',
      'DELETE /api/users/@me/email bearer',
      'GET /api/users/@me bearer',
      'PATCH /api/users/@me bearer',
      'DELETE /api/users/@me bearer',
      'GET /api/users/:id bearer',
      'POST /api/users/@me/verify-password bearer',
      'POST /api/users/@me/change-password bearer',
      'POST /api/users/@me/sessions/end bearer',
      'POST /api/users/@me/renew bearer',
      'GET /api/users/@me/sockets bearer',
      'GET /api/users/@me/sign-ins bearer',
      'POST /api/users/@me/export bearer',
      'POST /api/users/@me/federation-identity/delete bearer',
      'GET /api/users/@me/federation-identity/orders bearer',
      'GET /api/users/@me/federation-registry bearer',
      'PUT /api/users/@me/federation-registry bearer',
      'POST /api/users/@me/federation-credential bearer',
      'POST /api/auth/attach-proof bearer',
      'POST /api/users/@me/reattach bearer',
      'GET /api/users/@me/second-factor bearer',
      'POST /api/users/@me/second-factor bearer',
      'POST /api/users/@me/second-factor/confirm bearer',
      'POST /api/users/@me/second-factor/recovery-codes bearer',
      'DELETE /api/users/@me/second-factor bearer',
      'POST /api/users/@me/passkeys/options bearer',
      'POST /api/users/@me/passkeys bearer',
      'GET /api/users/@me/passkeys bearer',
      'DELETE /api/users/@me/passkeys/:id bearer',
      'GET /api/auth/providers anyone',
      'POST /api/auth/providers/:provider/start anyone',
      'GET /api/auth/providers/:provider/callback anyone',
      'POST /api/auth/providers/finish anyone',
      'GET /api/users/@me/identities bearer',
      'DELETE /api/users/@me/identities/:id bearer',
      'POST /api/auth/providers/:provider/back-channel-logout anyone',
      'POST /api/uploads bearer',
      'GET /api/uploads/:filename anyone',
      'GET /api/instance/info anyone',
      'GET /api/users/@me/applications bearer',
      'DELETE /api/users/@me/applications/:id bearer',
      'GET /oauth2/interaction/:uid/details bearer',
      'POST /oauth2/interaction/:uid/decision bearer',
      'POST /oauth2/device-code bearer',
      'POST /oauth2/device-code/decision bearer',
      'POST /api/upstream/accounts upstream',
      'GET /api/upstream/accounts/changes upstream',
      'POST /api/upstream/presence upstream',
      'POST /api/admin/invites admin',
      'GET /api/admin/invites admin',
      'PATCH /api/admin/invites/:id admin',
      'POST /api/admin/invites/:id/revoke admin',
      'POST /api/admin/invites/:id/reinstate admin',
      'DELETE /api/admin/invites/:id admin',
      'GET /api/admin/invites/:id/redemptions admin',
      'POST /api/invites bearer',
      'GET /api/invites bearer',
      'POST /api/invites/:id/revoke bearer',
      'GET /api/admin/overview admin',
      'GET /api/admin/users admin',
      'GET /api/admin/users/instances admin',
      'GET /api/admin/users/:id admin',
      'PATCH /api/admin/users/:id/role admin',
      'POST /api/admin/users/:id/reset-password admin',
      'POST /api/admin/users/:id/recovery-link admin',
      'POST /api/admin/users/:id/suspend admin',
      'POST /api/admin/users/:id/unsuspend admin',
      'POST /api/admin/users/:id/sessions/end admin',
      'DELETE /api/admin/users/:id admin',
      'DELETE /api/admin/users/:id/second-factor admin',
      'GET /api/settings/instance admin',
      'PATCH /api/settings/instance admin',
      'GET /api/admin/audit admin',
      'GET /api/admin/applications admin',
      'POST /api/admin/applications admin',
      'PATCH /api/admin/applications/:id admin',
      'DELETE /api/admin/applications/:id admin',
      'POST /api/admin/applications/:id/secret admin',
      'POST /api/admin/applications/:id/verify admin',
      'GET /api/admin/registrations admin',
      'POST /api/admin/registrations/:id/approve admin',
      'POST /api/admin/registrations/:id/deny admin',
      'POST /api/admin/registrations/:id/restore admin',
      'POST /api/admin/registrations/decide admin',
      'GET /api/admin/deletion-orders admin',
      'GET /api/admin/upstream-deletions admin',
      'DELETE /api/federation/identity peer',
      'GET /api/federation/receipt-keys anyone',
      'POST /api/federation/epoch peer',
      'POST /api/federation/stubs peer',
      'POST /api/federation/peer/accept anyone',
      'POST /api/federation/peer/denied peer',
      'POST /api/federation/peer/rotate peer',
      'POST /api/federation/relay peer',
      'POST /api/federation/sync peer',
      'POST /api/federation/users/lookup peer',
      'POST /api/federation/users/by-home-id peer',
      'POST /api/federation/verify-attach-proof peer',
      'POST /api/federation/peer/ensure bearer',
      'POST /api/federation/peer/initiate admin',
      'GET /api/federation/peers admin',
      'PATCH /api/federation/peers/:id admin',
      'DELETE /api/federation/peers/:id admin',
      'DELETE /api/federation/peers/:id/permanent admin',
      'POST /api/federation/peers/:id/reset admin',
      'POST /api/federation/peers/:id/recheck admin',
      'POST /api/federation/peers/:id/rotate admin',
      'GET /api/federation/approval-requests admin',
      'POST /api/federation/approval-requests/:id/approve admin',
      'POST /api/federation/approval-requests/:id/deny admin',
    ])
  })
})
