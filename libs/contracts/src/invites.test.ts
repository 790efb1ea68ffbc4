import { expect } from 'chai'
import { createInviteBody, pageQuery, patchInviteBody } from './invites.ts'

const endOf9999 = Date.parse('9999-12-31T23:59:59.999Z')
const messageFor = (part: object) => createInviteBody.safeParse({ name: 'n', ...part }).error?.issues[0]?.message

describe('The body of an invite', () => {
  it('has a name of 1 to 64 characters after trimming', () => {
    expect([' a ', '🎉'.repeat(64)].map((name) => messageFor({ name }))).to.deep.equal([undefined, undefined])
    expect(messageFor({ name: ' ' })).to.equal('name is required')
    expect(messageFor({ name: 'a'.repeat(65) })).to.equal('name must be at most 64 characters')
  })

  /** Contract: 4, Input. */
  it('has maxUses of null or a positive integer that PostgreSQL can store', () => {
    expect([null, 1, 2_147_483_647].map((maxUses) => messageFor({ maxUses }))).to.deep.equal(Array(3).fill(undefined))
    for (const maxUses of [0, -1, 1.5, '1', 2_147_483_648]) {
      expect(messageFor({ maxUses }), String(maxUses)).to.include('maxUses')
    }
  })

  it('has expiresAt of null or milliseconds up to the end of the year 9999', () => {
    expect([null, 0, endOf9999].map((expiresAt) => messageFor({ expiresAt }))).to.deep.equal(Array(3).fill(undefined))
    for (const expiresAt of [-1, 1.5, '2027-01-01', endOf9999 + 1]) {
      expect(messageFor({ expiresAt }), String(expiresAt)).to.include('expiresAt')
    }
  })

  it('reads absent limits as null on creation and as unchanged in a PATCH', () => {
    expect(createInviteBody.parse({ name: 'n' })).to.deep.equal({ name: 'n', maxUses: null, expiresAt: null })
    expect(patchInviteBody.parse({})).to.deep.equal({})
  })
})

describe('The query of a page', () => {
  it('has a limit of 1 to 100', () => {
    const isValid = (limit: string) => pageQuery.safeParse({ limit }).success

    expect(['1', '100'].map(isValid)).to.deep.equal([true, true])
    expect(['0', '101', 'x', '1.5'].map(isValid)).to.deep.equal([false, false, false, false])
  })
})
