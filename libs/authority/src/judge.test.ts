import { isRefusal } from '@gatehouse/runtime'
import { expect } from 'chai'
import { assertCurrent, judgeToken } from './judge.ts'

const second = 1_700_000_000
const live = { isDeleted: false, isAdmin: false, passwordChangedAt: null }

function judge(state: typeof live | { passwordChangedAt: number } | null, tokenIssuedAt = second, admin = false) {
  try {
    assertCurrent(state && { ...live, ...state }, { userId: '1', tokenIssuedAt }, { admin })
    return 'current'
  } catch (error) {
    return isRefusal(error) ? error.code : error
  }
}

describe('a caller who acts', () => {
  it('is current while the account is live and its password has not changed since the token', () => {
    expect(judge(live)).to.equal('current')
    expect(judge(null)).to.equal('account_deleted')
    expect(judge({ ...live, isDeleted: true })).to.equal('account_deleted')
  })

  it('keeps a token of the second of the change, which is younger, and loses an earlier one', () => {
    expect(judge({ passwordChangedAt: second * 1000 + 999 })).to.equal('current')
    expect(judge({ passwordChangedAt: (second + 1) * 1000 })).to.equal('token_revoked')
    expect(judge({ passwordChangedAt: second * 1000 }, second - 1)).to.equal('token_revoked')
  })

  it('is an admin where one is needed', () => {
    expect(judge(live, second, true)).to.equal('admin_required')
    expect(judge({ ...live, isAdmin: true }, second, true)).to.equal('current')
  })

  /** Contract: 3, Second factor. */
  it('is no admin in effect while the second factor that the instance demands is missing', () => {
    const due = { ...live, isAdmin: true, secondFactorDue: true }
    expect(judge(due, second, true)).to.equal('second_factor_setup_required')
    expect(judge(due)).to.equal('current')
    expect(judge({ ...due, isAdmin: false }, second, true)).to.equal('admin_required')
  })
})

describe('a token', () => {
  const state = { isDeleted: false, passwordChangedAt: null }

  it('rejects a token issued in a second before the change, and accepts one of its second, which is younger', () => {
    const changed = { ...state, passwordChangedAt: 1_700_000_000_900 }

    expect(judgeToken({ iat: 1_699_999_999 }, changed)).to.equal('revoked')
    expect(judgeToken({ iat: 1_700_000_000 }, changed)).to.equal('live')
  })

  it('rejects tokens of deleted and of missing accounts', () => {
    expect(judgeToken({ iat: 1 }, { ...state, isDeleted: true })).to.equal('deleted')
    expect(judgeToken({ iat: 1 }, undefined)).to.equal('missing')
    expect(judgeToken({ iat: 1 }, state)).to.equal('live')
  })
})
