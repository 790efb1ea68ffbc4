import { expect } from 'chai'
import { commonReservations, isReservation, isReservedUsername } from './reserved-usernames.ts'

describe('Reserved usernames', () => {
  it('are reserved one by one, or all that begin alike', () => {
    const reserved = ['root', 'adm*']

    expect(['root', 'adm', 'admin', 'adm_1'].filter((name) => !isReservedUsername(name, reserved))).to.deep.equal([])
    expect(['roo', 'roots', 'ad', 'my_adm'].filter((name) => isReservedUsername(name, reserved))).to.deep.equal([])
    expect(['*', 'a*b', 'a**', 'Root', 'bob@home', '', 'a'.repeat(33)].filter(isReservation)).to.deep.equal([])
    expect(commonReservations.filter((name) => !isReservation(name))).to.deep.equal([])
    expect(new Set(commonReservations).size).to.equal(commonReservations.length).and.to.be.at.least(60)
  })
})
