import { expect } from 'chai'
import { explainOldNode } from './require-node.js'

describe('a Node that is too old', () => {
  it('is refused with the remedy', () => {
    expect(explainOldNode('18.20.4')).to.match(/^Node 20 or later is needed, and this is 18\.20\.4: install/)
    expect(explainOldNode('9.0.0')).to.be.a('string')
    expect(explainOldNode('20.0.0')).to.equal(null)
    expect(explainOldNode('24.21.0')).to.equal(null)
  })
})
