import { expect } from 'chai'
import { z } from 'zod'
import { endpoints } from './endpoints.ts'
import type { Endpoint } from './endpoints.ts'
import { endpointTable } from './table.ts'
import type { EndpointName, EndpointRow } from './table.ts'

const all: Endpoint[] = Object.values(endpoints)
const named = (endpoint: Endpoint) => `${endpoint.method} ${endpoint.path}`

describe('The endpoint table', () => {
  it('names each method and path once, whatever its parameters are called', () => {
    const addresses = all.map((endpoint) => named(endpoint).replace(/:\w+/g, ':'))

    expect(addresses).to.have.length(new Set(addresses).size)
  })

  it('keeps everything under /api, and nothing internal there', () => {
    for (const { path } of all) expect(path).to.match(/^\/api(\/(@me|:\w+|[a-z-]+))+$/)
  })

  it('has a schema for each parameter in a path, and for no other', () => {
    for (const endpoint of all) {
      const inPath = [...endpoint.path.matchAll(/:(\w+)/g)].map(([, name]) => name)
      expect(Object.keys(endpoint.params?.shape ?? {}), named(endpoint)).to.deep.equal(inPath)
    }
  })

  it('gives administration to admins only', () => {
    for (const endpoint of all.filter(({ path }) => path.startsWith('/api/admin/'))) {
      expect(endpoint.access, named(endpoint)).to.equal('admin')
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
    const given = { showDeleted: 'true', role: 'admin', page: '3', sort: 'az', status: 'archived', cursor: '5' }
    for (const { query } of all.filter(({ query }) => query)) {
      const read = query!.parse(given)
      expect(query!.parse(asText(read))).to.deep.equal(read)
    }
  })

  it('reads bodies where there is one to read, and answers each with a success', () => {
    for (const endpoint of all) {
      if (endpoint.method === 'GET') expect(endpoint.body, named(endpoint)).to.equal(undefined)
      const statuses = Object.keys(endpoint.replies)
      expect(statuses.every((status) => status.startsWith('2')) && statuses.length > 0, named(endpoint)).to.equal(true)
    }
  })

  it('can be written as JSON Schema, inputs and replies alike', () => {
    for (const endpoint of all) {
      const inputs = [endpoint.params, endpoint.query, endpoint.body].filter((part) => part instanceof z.ZodType)
      const replies = Object.values(endpoint.replies).filter((part) => part instanceof z.ZodType)
      for (const schema of inputs) expect(() => z.toJSONSchema(schema, { io: 'input' }), named(endpoint)).to.not.throw()
      for (const schema of replies) expect(() => z.toJSONSchema(schema), named(endpoint)).to.not.throw()
    }
  })

  it('lists everything that the contract names', () => {
    expect(all.map(named)).to.include.members([
      'POST /api/auth/register',
      'GET /api/auth/check-username',
      'GET /api/auth/check-invite',
      'POST /api/auth/login',
      'GET /api/users/@me',
      'PATCH /api/users/@me',
      'DELETE /api/users/@me',
      'GET /api/users/:id',
      'POST /api/users/@me/verify-password',
      'POST /api/users/@me/change-password',
      'POST /api/users/@me/federation-identity/delete',
      'GET /api/users/@me/federation-identity/orders',
      'GET /api/admin/deletion-orders',
      'GET /api/admin/upstream-deletions',
      'GET /api/federation/receipt-keys',
      'GET /api/users/@me/sockets',
      'POST /api/users/@me/export',
      'POST /api/uploads',
      'GET /api/uploads/:filename',
      'GET /api/instance/info',
      'POST /api/admin/invites',
      'GET /api/admin/invites',
      'PATCH /api/admin/invites/:id',
      'POST /api/admin/invites/:id/revoke',
      'POST /api/admin/invites/:id/reinstate',
      'DELETE /api/admin/invites/:id',
      'GET /api/admin/invites/:id/redemptions',
      'GET /api/admin/overview',
      'GET /api/admin/users',
      'GET /api/admin/users/instances',
      'GET /api/users/@me/federation-registry',
      'PUT /api/users/@me/federation-registry',
      'POST /api/auth/attach-proof',
      'POST /api/users/@me/reattach',
      'PATCH /api/admin/users/:id/role',
      'POST /api/admin/users/:id/reset-password',
      'DELETE /api/admin/users/:id',
      'GET /api/settings/instance',
      'PATCH /api/settings/instance',
      'GET /api/admin/audit',
      'DELETE /api/federation/identity',
      'POST /api/federation/epoch',
      'POST /api/federation/stubs',
      'POST /api/federation/peer/accept',
      'POST /api/federation/peer/initiate',
      'GET /api/federation/peers',
      'DELETE /api/federation/peers/:id',
      'GET /api/federation/approval-requests',
      'POST /api/federation/approval-requests/:id/approve',
      'POST /api/federation/approval-requests/:id/deny',
    ])
  })
})
