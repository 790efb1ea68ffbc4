import { expect } from 'chai'
import { createVisibleUsers } from './audience.ts'

const audience = {
  spacesOf: new Map([
    ['1', ['10']],
    ['2', ['10']],
    ['3', ['10', '11']],
  ]),
  membersOf: new Map([
    ['10', ['1', '2', '5']],
    ['11', ['3', '5', '6']],
  ]),
  linkedTo: new Map([
    ['1', ['5', '7']],
    ['4', ['1']],
  ]),
}

describe('the online users whom a user sees', () => {
  it('are the members of the spaces, the linked ones and the user, each once', () => {
    const visibleTo = createVisibleUsers(audience)
    const idsOf = (userId: string) => {
      const { shared, others } = visibleTo(userId)
      const members = [shared, others].filter((part) => part.length > 0).map(String)
      const keys = members.join(',').match(/"\d+"(?=:"online")/g) ?? []
      expect(Object.keys(JSON.parse(`{${members.join(',')}}`) as object).length).to.equal(keys.length)
      return keys.map((key) => key.slice(1, -1)).sort()
    }

    expect(idsOf('1')).to.deep.equal(['1', '2', '5', '7'])
    expect(idsOf('3')).to.deep.equal(['1', '2', '3', '5', '6'])
    expect(idsOf('4')).to.deep.equal(['1', '4'])
    expect(idsOf('8')).to.deep.equal(['8'])
  })

  it('are one encoded list for all users with the same spaces', () => {
    const visibleTo = createVisibleUsers(audience)

    expect(visibleTo('1').shared).to.equal(visibleTo('2').shared)
    expect(visibleTo('3').shared).to.not.equal(visibleTo('1').shared)
  })
})
