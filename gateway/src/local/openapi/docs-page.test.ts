import { expect } from 'chai'
import { changeOf, exampleOf } from './docs-page.ts'
import { createOpenApi } from './openapi.ts'

const { paths } = createOpenApi()
const bodyOf = (path: string, method: string) =>
  paths[path]?.[method]?.requestBody?.content['application/json']?.schema ?? {}

describe('the examples of the API page', () => {
  it('have each field of the body, without a limit where there need not be one', () => {
    expect(exampleOf(bodyOf('/api/admin/invites', 'post'))).to.deep.equal({ name: '', maxUses: null, expiresAt: null })
    expect(exampleOf(bodyOf('/api/auth/login', 'post'))).to.deep.equal({ username: '', password: '', code: null })
  })

  it('change one field alone, so that none is cleared by trying them', () => {
    expect(changeOf(bodyOf('/api/users/@me', 'patch'))).to.deep.equal({ displayName: 'text' })
    expect(changeOf(bodyOf('/api/settings/instance', 'patch'))).to.deep.equal({ instanceName: 'text' })
    expect(changeOf(bodyOf('/api/admin/users/{id}/role', 'patch'))).to.deep.equal({ isAdmin: false })
  })

  it('stand under the administration where only admins may send them', () => {
    expect(paths['/api/settings/instance']?.['patch']?.tags).to.deep.equal(['Administration'])
  })
})
