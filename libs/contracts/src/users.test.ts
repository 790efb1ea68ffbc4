import { expect } from 'chai'
import { profileBody, registerBody, userReply } from './users.ts'

const instance = { origin: 'https://b.example', username: 'ada' }
const credentials = { username: 'ada', password: 'long enough' }
const messageFor = (change: object) => profileBody.safeParse(change).error?.issues[0]?.message

describe('The body of a profile change', () => {
  it('takes a displayName of at most 32 characters after trimming', () => {
    expect(messageFor({ displayName: ` ${'🎉'.repeat(32)} ` })).to.equal(undefined)
    expect(messageFor({ displayName: '🎉'.repeat(33) })).to.equal('displayName must be at most 32 characters')
  })

  it('takes a bio of at most 190 characters', () => {
    expect(messageFor({ bio: '🎉'.repeat(190) })).to.equal(undefined)
    expect(messageFor({ bio: 'a'.repeat(191) })).to.equal('bio must be at most 190 characters')
  })

  it('takes a customStatus of at most 128 characters', () => {
    expect(messageFor({ customStatus: '🎉'.repeat(128) })).to.equal(undefined)
    expect(messageFor({ customStatus: 'a'.repeat(129) })).to.equal('customStatus must be at most 128 characters')
  })

  it('takes at most 20 replicatedInstances', () => {
    expect(messageFor({ replicatedInstances: Array(20).fill(instance) })).to.equal(undefined)
    expect(messageFor({ replicatedInstances: Array(21).fill(instance) })).to.equal(
      'replicatedInstances holds at most 20',
    )
  })

  it('takes the seven avatar colors and colors of the form #rrggbb', () => {
    for (const avatarColor of ['mint', 'sky', 'lavender', 'coral', 'rose', 'teal', 'amber']) {
      expect(messageFor({ avatarColor }), avatarColor).to.equal(undefined)
    }
    expect(messageFor({ avatarColor: 'Mint' })).to.include('avatarColor must be one of')
    expect(['#00ffAA', null].map((accentColor) => messageFor({ accentColor }))).to.deep.equal([undefined, undefined])
    for (const accentColor of ['#00ffa', '#00ffaa0', '00ffaa', '#00ffag', '#00ffaa\n']) {
      expect(messageFor({ accentColor }), accentColor).to.equal('accentColor must be a color like #rrggbb')
    }
  })
})

describe('The body of a registration', () => {
  it('takes a displayName of at most 32 characters and a homeInstance of at most 253', () => {
    const isValid = (part: object) => registerBody.safeParse({ ...credentials, ...part }).success

    expect([{ displayName: 'a'.repeat(32) }, { homeInstance: 'a'.repeat(253) }].map(isValid)).to.deep.equal([
      true,
      true,
    ])
    expect([{ displayName: 'a'.repeat(33) }, { homeInstance: 'a'.repeat(254) }].map(isValid)).to.deep.equal([
      false,
      false,
    ])
  })

  it('reads null and empty as absent, and leaves avatarColor and inviteToken to the operation', () => {
    const body = {
      ...credentials,
      displayName: ' ',
      homeInstance: '',
      homeUserId: null,
      avatarColor: 7,
      inviteToken: {},
      reason: ' ',
    }

    expect(registerBody.parse(body)).to.deep.equal({ ...body, displayName: null, homeInstance: null, reason: null })
  })
})

describe('The reply with a user', () => {
  it('has one of the avatar colors, or none', () => {
    const { avatarColor } = userReply.shape

    expect(['mint', null, 'red'].map((color) => avatarColor.safeParse(color).success)).to.deep.equal([
      true,
      true,
      false,
    ])
  })
})
