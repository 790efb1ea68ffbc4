import { expect } from 'chai'
import type { User } from '@gatehouse/domain'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

const day = (number: number) => new Date(Date.UTC(2026, 0, number))

describe('GET /api/admin/users', () => {
  let identity: TestIdentity
  let admin: User
  before(async () => {
    identity = await startTestIdentity()
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
    expect(await names('role=non-admin&homeInstance=local')).to.deep.equal(['underxscore', 'under_score'])
    expect(await names('homeInstance=HOME.example')).to.deep.equal(['bo@home.example'])
    expect((await names('showDeleted=true'))[0]).to.equal('Deleted User')
  })

  it('sorts by name or age, either way', async () => {
    expect(await names('sort=az')).to.deep.equal(['bo@home.example', 'under_score', 'underxscore', 'zoe'])
    expect((await names('sort=za'))[0]).to.equal('zoe')
    expect((await names('sort=oldest'))[0]).to.equal('zoe')
  })

  it('filters by the days of joining, both ends included', async () => {
    const dayOf = (count: number) => day(count).toISOString().slice(0, 10)

    expect(await names(`joinedAfter=${dayOf(3)}`)).to.deep.equal(['bo@home.example', 'underxscore'])
    expect(await names(`joinedBefore=${dayOf(2)}`)).to.deep.equal(['under_score', 'zoe'])
    expect(await names(`joinedAfter=${dayOf(2)}&joinedBefore=${dayOf(2)}`)).to.deep.equal(['under_score'])
    expect(await names(`joinedAfter=${encodeURIComponent(day(3).toISOString())}`)).to.have.length(2)
  })

  /** Contract: 5, Users. */
  it('reads unknown values as the default, and clamps pages', async () => {
    const usual = await names('')
    const unknown = ['role=king', 'sort=password_hash', 'showDeleted=maybe', 'joinedAfter=yesterday', 'page=x']
    for (const query of [...unknown, 'joinedBefore=0000-01-01', 'joinedAfter=2026-02-30', 'pageSize=', 'page=0']) {
      expect(await names(query), query).to.deep.equal(usual)
    }
    const sizes = [
      ['0', 1],
      ['-5', 1],
      ['1', 1],
      ['100', 100],
      ['101', 100],
      ['1e99', 100],
      ['none', 50],
    ] as const
    for (const [given, pageSize] of sizes) {
      const { status, body } = await identity.call('GET', `/api/admin/users?pageSize=${given}`, { as: admin })
      expect([status, body.pageSize], given).to.deep.equal([200, pageSize])
    }
  })

  it('names the home instances of live users', async () => {
    await buildUser(identity, { username: 'al@away.example', homeInstance: 'away.example', createdAt: day(0) })
    const gone = { username: '!deleted:8', homeInstance: 'gone.example', isDeleted: true, createdAt: day(0) }
    await buildUser(identity, gone)

    const { body } = await identity.call('GET', '/api/admin/users/instances', { as: admin })

    expect(body).to.deep.equal({ instances: ['away.example', 'home.example'] })
  })

  it('shows no secret', async () => {
    expect((await identity.call('GET', '/api/admin/users', { as: admin })).text).to.not.match(/password|showActivity/i)
  })
})
