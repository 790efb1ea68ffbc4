import { channel } from 'node:diagnostics_channel'
import { expect } from 'chai'
import { watchRefusals } from './undeclared-refusals.ts'

describe('the refusals that tests see', () => {
  it('are collected where the endpoint does not declare them', () => {
    const undeclared = watchRefusals('test:refusal')
    const answered = channel('test:refusal')
    const route = 'POST /api/auth/login'

    answered.publish({ route, code: 'invalid_credentials' })
    answered.publish({ route: 'GET /things', code: 'last_admin' })
    expect([...undeclared]).to.deep.equal([])
    answered.publish({ route: 'GET /api/users/:id', code: 'last_admin' })
    expect([...undeclared]).to.deep.equal(['GET /api/users/:id: last_admin'])
  })
})
