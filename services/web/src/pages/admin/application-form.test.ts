import type { Application } from '@gatehouse/client'
import { limits } from '@gatehouse/contracts/constants'
import { expect } from 'chai'
import { changedFields } from '../../components/changed-fields.ts'
import { changesOf, entryOf, findAddressProblem, newBodyOf, refusedFieldOf } from './application-form.ts'

const wiki = {
  id: '7',
  name: 'Wiki',
  type: 'confidential',
  redirectUris: ['https://wiki.example/a', 'https://wiki.example/b'],
  postLogoutRedirectUris: [],
  backchannelLogoutUri: 'https://wiki.example/logout',
  signalsUri: null,
  skipConsent: false,
  accessTokens: 'opaque',
  deviceGrant: false,
  subjectType: 'public',
} as unknown as Application

describe('The form of an application', () => {
  it('sends what was changed and nothing else, and all of a new one', () => {
    const entry = entryOf(wiki)
    const edited = {
      ...entry,
      name: ' The wiki ',
      redirectUris: 'https://wiki.example/c\n\n',
      backchannelLogoutUri: ' ',
    }

    expect(changesOf(changedFields(entry, entry))).to.deep.equal({})
    expect(changesOf(changedFields(entry, edited))).to.deep.equal({
      name: 'The wiki',
      redirectUris: ['https://wiki.example/c'],
      backchannelLogoutUri: null,
    })
    expect(newBodyOf({ ...entryOf(null), name: 'New' })).to.deep.equal({
      name: 'New',
      type: 'confidential',
      redirectUris: [],
      postLogoutRedirectUris: [],
      backchannelLogoutUri: null,
      signalsUri: null,
      skipConsent: false,
      accessTokens: 'opaque',
      deviceGrant: false,
      subjectType: 'public',
    })
  })

  it('takes the addresses that the server takes, and names the one that is in the way', () => {
    const problemOf = (redirectUris: string, type: Application['type'] = 'confidential') =>
      findAddressProblem('redirectUris', { ...entryOf(null), type, redirectUris })
    const many = Array.from({ length: limits.applicationUrisMax + 1 }, (_, index) => `https://a.example/${index}`)

    for (const good of [
      '',
      'https://a.example/x?y=1',
      'http://127.0.0.1:8080/x',
      'https://a.example/1\nhttps://a.example/2',
    ])
      expect(problemOf(good), good).to.equal(null)
    for (const bad of [
      'http://a.example',
      'https://a.example/#x',
      'https://*.example',
      'javascript:alert(1)',
      'com.example.app:/x',
    ])
      expect(problemOf(`https://a.example ${bad}`), bad).to.deep.equal({ kind: 'invalid', address: bad })
    expect(problemOf('com.example.app:/x', 'public')).to.equal(null)
    expect(problemOf('https://a.example\nhttps://a.example')).to.include({ kind: 'twice' })
    expect(problemOf(many.join('\n'))).to.deep.equal({ kind: 'too_many' })
  })

  it('takes one address of a receiver, and none of a private scheme', () => {
    const problemOf = (signalsUri: string) =>
      findAddressProblem('signalsUri', { ...entryOf(null), type: 'public', signalsUri })

    expect(problemOf('https://a.example/s')).to.equal(null)
    expect(problemOf('https://a.example/s https://a.example/t')).to.deep.equal({ kind: 'too_many' })
    expect(problemOf('com.example.app:/x')).to.include({ kind: 'invalid' })
  })

  it('knows the field that the server refused', () => {
    expect(refusedFieldOf({ field: 'redirectUris.3' })).to.equal('redirectUris')
    expect(refusedFieldOf(null)).to.equal('')
  })
})
