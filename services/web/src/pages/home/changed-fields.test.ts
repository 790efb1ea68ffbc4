import { expect } from 'chai'
import { changedFields, type ProfileValues } from './changed-fields.ts'

const saved: ProfileValues = {
  displayName: 'Ada',
  bio: '',
  customStatus: 'Busy',
  accentColor: null,
  avatarColor: 'mint',
  discoverable: true,
  showActivity: true,
}

describe('what a profile edit sends', () => {
  it('is nothing when nothing was changed', () => {
    expect(changedFields(saved, { ...saved })).to.deep.equal({})
  })

  it('is what was changed, trimmed, and null for what was emptied', () => {
    const edited = { ...saved, displayName: ' Ada L. ', customStatus: '  ', discoverable: false }

    expect(changedFields(saved, edited)).to.deep.equal({
      displayName: 'Ada L.',
      customStatus: null,
      discoverable: false,
    })
  })
})
