import { userReply } from '@gatehouse/contracts'
import { expect } from 'chai'
import { User } from './entities/index.ts'
import { sanitizeUser } from './user-views.ts'

/** Every column set, so that one that leaks would show. */
const columns = {
  id: '382472732995616770',
  username: 'ada',
  passwordHash: 'THE-HASH',
  displayName: 'Ada',
  avatar: 'a.webp',
  banner: 'b.webp',
  bio: 'bio',
  customStatus: 'busy',
  accentColor: '#aabbcc',
  avatarColor: 'mint',
  status: 'online',
  isAdmin: true,
  isDeleted: false,
  passwordChangedAt: 1_700_000_000_001,
  sessionsEndedAt: 1_700_000_000_002,
  stateVersion: 7,
  homeInstance: 'home.example',
  homeUserId: '42',
  replicatedInstances: [{ origin: 'https://a.example', username: 'ada' }],
  discoverable: true,
  showActivity: false,
  profileUpdatedAt: 5,
  createdAt: new Date(1_600_000_000_000),
} as const

const buildUser = (overrides: object = {}) => Object.assign(Object.create(User.prototype) as User, columns, overrides)

describe('Sanitized user', () => {
  it('holds what the contract names and nothing else', () => {
    const reply = sanitizeUser(buildUser(), false)

    expect(reply).to.deep.equal({
      id: columns.id,
      username: 'ada',
      displayName: 'Ada',
      avatar: 'a.webp',
      banner: 'b.webp',
      bio: 'bio',
      customStatus: 'busy',
      accentColor: '#aabbcc',
      avatarColor: 'mint',
      status: 'online',
      isAdmin: true,
      discoverable: true,
      profileUpdatedAt: 5,
      createdAt: 1_600_000_000_000,
      homeInstance: 'home.example',
      homeUserId: '42',
      replicatedInstances: [{ origin: 'https://a.example', username: 'ada' }],
    })
    expect(userReply.safeParse(reply).success).to.equal(true)
  })

  it('adds showActivity for the user themselves only', () => {
    expect(sanitizeUser(buildUser(), true)).to.have.property('showActivity', false)
    expect(sanitizeUser(buildUser(), false)).to.not.have.property('showActivity')
  })

  it('adds passwordChangedAt for the user themselves only', () => {
    expect(sanitizeUser(buildUser(), true)).to.have.property('passwordChangedAt', columns.passwordChangedAt)
    expect(sanitizeUser(buildUser(), false)).to.not.have.property('passwordChangedAt')
  })

  it('of a tombstone keeps id and createdAt, whatever the row still holds and whoever the caller is', () => {
    for (const isSelf of [true, false]) {
      const reply = sanitizeUser(buildUser({ isDeleted: true }), isSelf)

      expect(userReply.safeParse(reply).success).to.equal(true)
      expect(reply).to.deep.equal({
        id: columns.id,
        username: 'Deleted User',
        displayName: null,
        avatar: null,
        banner: null,
        bio: null,
        customStatus: null,
        accentColor: null,
        avatarColor: null,
        status: 'offline',
        isAdmin: false,
        isDeleted: true,
        discoverable: false,
        profileUpdatedAt: 0,
        createdAt: 1_600_000_000_000,
        homeInstance: null,
        homeUserId: null,
        replicatedInstances: [],
      })
    }
  })

  it('never holds the hash, in any form', () => {
    for (const isDeleted of [true, false]) {
      expect(JSON.stringify(sanitizeUser(buildUser({ isDeleted }), true))).to.not.include('THE-HASH')
    }
  })
})
