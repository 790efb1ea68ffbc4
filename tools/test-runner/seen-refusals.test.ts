import { channel } from 'node:diagnostics_channel'
import { expect } from 'chai'
import { findUngiven, watchRefusals } from './seen-refusals.ts'

describe('the refusals that tests see', () => {
  it('are collected where the endpoint does not declare them', () => {
    const { undeclared, declared } = watchRefusals('test:refusal')
    const answered = channel('test:refusal')

    answered.publish({ route: 'POST /api/auth/login', code: 'invalid_credentials' })
    answered.publish({ route: 'GET /things', code: 'last_admin' })
    expect([...undeclared]).to.deep.equal([])
    expect([...declared]).to.deep.equal(['POST /api/auth/login: invalid_credentials'])
    answered.publish({ route: 'GET /api/users/:id', code: 'last_admin' })
    expect([...undeclared]).to.deep.equal(['GET /api/users/:id: last_admin'])
  })

  it('are missed where the endpoint declares them for itself', () => {
    const ungiven = findUngiven(new Set())

    expect(ungiven).to.include('POST /api/auth/login: invalid_credentials')
    expect(ungiven).not.to.include('POST /api/auth/login: rate_limited')
    expect(findUngiven(new Set(ungiven))).to.deep.equal([])
  })
})
