import type { Refusal } from '@gatehouse/runtime'
import { expect } from 'chai'
import { readPeerOrigin } from './with-peer.ts'

const own = { publicAddress: { origin: 'https://own.example', domain: 'own.example' } }
const guarded = { ...own, reach: { allowPrivate: [], resolve: {} } }
const open = { ...own, reach: { allowPrivate: ['127.0.0.0/8'], resolve: {} } }

const codeOf = (config: typeof open, text: string) => {
  try {
    return readPeerOrigin(config, text)
  } catch (error) {
    return (error as Refusal).code
  }
}

describe('origins of other instances', () => {
  it('are read in one spelling', () => {
    const spellings = ['https://B.Example', 'https://b.example/', 'https://b.example:443', ' https://b.example ']

    expect(new Set(spellings.map((text) => codeOf(guarded, text)))).to.deep.equal(new Set(['https://b.example']))
  })

  it('are plain http only where private addresses may be reached', () => {
    expect(codeOf(guarded, 'http://b.example')).to.equal('origin_invalid')
    expect(codeOf(open, 'http://b.example')).to.equal('http://b.example')
  })

  it('are not our own', () => {
    expect(codeOf(guarded, 'https://OWN.example:443/')).to.equal('origin_is_own')
  })
})
