import { expect } from 'chai'
import type { User } from '@gatehouse/domain'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

describe('GET /api/admin/users', () => {
  let identity: TestIdentity
  let admin: User
  before(async () => {
    identity = await startTestIdentity()
    const day = (number: number) => new Date(Date.UTC(2026, 0, number))
    admin = await buildUser(identity, { username: 'zoe', isAdmin: true, createdAt: day(1) })
    await buildUser(identity, { username: 'under_score', displayName: '100% Real', createdAt: day(2) })
    await buildUser(identity, { username: 'underxscore', displayName: 'Back\\slash', createdAt: day(3) })
    await buildUser(identity, { username: 'bo@home.example', homeInstance: 'home.example', createdAt: day(4) })
    await buildUser(identity, { username: '!deleted:9', isDeleted: true, createdAt: day(5) })
  })
  after(async () => await identity[Symbol.asyncDispose]())

  async function names(query: string): Promise<string[]> {
    const { body } = await identity.call('GET', `/api/admin/users?${query}`, { as: admin })
    return (body.users as { username: string }[]).map((user) => user.username)
  }

  it('lists live accounts newest first, a page at a time, with the total', async () => {
    const { body } = await identity.call('GET', '/api/admin/users?page=2&pageSize=3', { as: admin })

    expect(body).to.deep.include({ total: 4, page: 2, pageSize: 3 })
    expect((body.users as { username: string }[]).map((user) => user.username)).to.deep.equal(['zoe'])
    expect(await names('')).to.deep.equal(['bo@home.example', 'underxscore', 'under_score', 'zoe'])
  })

  it('searches literally, in names and display names, ignoring case', async () => {
    expect(await names('q=UNDER_')).to.deep.equal(['under_score'])
    expect(await names('q=100%25')).to.deep.equal(['under_score'])
    expect(await names('q=back%5C')).to.deep.equal(['underxscore'])
    expect(await names('q=under')).to.deep.equal(['underxscore', 'under_score'])
    expect(await names('q=unknown')).to.deep.equal([])
  })

  it('filters by role, home and deletion', async () => {
    expect(await names('role=admin')).to.deep.equal(['zoe'])
    expect(await names('role=user&homeInstance=local')).to.deep.equal(['underxscore', 'under_score'])
    expect(await names('homeInstance=HOME.example')).to.deep.equal(['bo@home.example'])
    expect((await names('showDeleted=true'))[0]).to.equal('Deleted User')
  })

  it('sorts by name or age, either way', async () => {
    expect(await names('sort=username')).to.deep.equal(['bo@home.example', 'under_score', 'underxscore', 'zoe'])
    expect((await names('sort=-username'))[0]).to.equal('zoe')
    expect((await names('sort=createdAt'))[0]).to.equal('zoe')
  })

  it('refuses unknown values, and shows no secret', async () => {
    const bad = ['page=0', 'pageSize=1000', 'role=king', 'sort=password_hash', 'showDeleted=maybe']
    for (const query of bad) {
      expect((await identity.call('GET', `/api/admin/users?${query}`, { as: admin })).status, query).to.equal(400)
    }
    expect((await identity.call('GET', '/api/admin/users', { as: admin })).text).to.not.match(/password|showActivity/i)
  })
})
