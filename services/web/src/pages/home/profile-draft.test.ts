import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { profileChange, type ProfileValues } from './profile-draft.ts'

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
    expect(profileChange(saved, { ...saved })).to.deep.equal({})
  })

  it('hold the changed fields only, trimmed, and null for emptied ones', () => {
    const edited = { ...saved, displayName: ' Ada L. ', customStatus: '  ', discoverable: false }

    expect(profileChange(saved, edited)).to.deep.equal({
      displayName: 'Ada L.',
      customStatus: null,
      discoverable: false,
    })
  })
})

describe('the form of a profile edit', () => {
  it('has a control for each field but the pictures, which have pickers of their own', () => {
    const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.tsx'))
    const sources = files.map((file) => readFileSync(join(import.meta.dirname, file), 'utf8')).join('')
    const missing = (names: readonly string[]) => names.filter((name) => !sources.includes(`set({ ${name} })`))

    expect(missing(Object.keys(saved))).to.deep.equal([])
    expect(missing(['unheardOf'])).to.deep.equal(['unheardOf'])
  })
})
