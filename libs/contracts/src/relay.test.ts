import { expect } from 'chai'
import { attachProofReply, byHomeIdReply } from './relay.ts'

const unstorable = ['a\0', '\ud800']

/** Contract: 7, Reattach. PostgreSQL takes no such text, so it would be a fault of this instance. */
describe('answers of a home about its user', () => {
  it('are unreadable where a proof has text that cannot be stored', () => {
    const proof = { valid: true, homeUserId: '7', username: 'erin' }
    const isRead = (given: object) => attachProofReply.safeParse({ ...proof, ...given }).success

    expect(isRead({})).to.equal(true)
    for (const name of ['homeUserId', 'username']) {
      for (const value of unstorable) expect(isRead({ [name]: value }), name).to.equal(false)
    }
  })

  it('are unreadable where a profile has text that cannot be stored', () => {
    const user = { homeUserId: '7', username: 'erin' }
    const profile = { displayName: 'Erin', bio: null, status: 'online' }
    const isRead = (ofUser: object, ofProfile: object) =>
      byHomeIdReply.safeParse({ found: true, user: { ...user, ...ofUser, profile: { ...profile, ...ofProfile } } })
        .success

    expect(isRead({}, {})).to.equal(true)
    for (const value of unstorable) {
      for (const name of ['homeUserId', 'username']) expect(isRead({ [name]: value }, {}), name).to.equal(false)
      for (const name of ['displayName', 'bio']) expect(isRead({}, { [name]: value }), name).to.equal(false)
    }
  })
})
