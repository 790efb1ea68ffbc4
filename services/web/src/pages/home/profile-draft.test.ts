import { expect } from 'chai'
import { changedFields, type ProfileValues } from './profile-draft.ts'

const saved: ProfileValues = {
  displayName: 'Ada',
  bio: '',
  customStatus: 'Busy',
  accentColor: null,
  avatarColor: 'mint',
  discoverable: true,
  showActivity: true,
}

describe('the changes of a profile edit', () => {
  it('are empty when nothing was changed', () => {
    expect(changedFields(saved, { ...saved })).to.deep.equal({})
  })

  it('hold the changed fields only, trimmed, and null for emptied ones', () => {
    const edited = { ...saved, displayName: ' Ada L. ', customStatus: '  ', discoverable: false }

    expect(changedFields(saved, edited)).to.deep.equal({
      displayName: 'Ada L.',
      customStatus: null,
      discoverable: false,
    })
  })
})
