import { expect } from 'chai'
import {
  canonicalUserKey,
  isDeliveryFromHome,
  isFederationGlobeApplicable,
  normalizeOriginToHost,
  type KnownUser,
} from './identity.ts'

const native: KnownUser = { id: '1', username: 'alice', homeInstance: null, homeUserId: null }
const onB: KnownUser = { id: '77', username: 'alice@home.example', homeInstance: 'home.example', homeUserId: '1' }

describe('Identity helpers: normalizeOriginToHost', () => {
  it('gives the host with its port, in lower case, of an origin or a host', () => {
    const hosts = [
      ['https://Chat.Example', 'chat.example'],
      ['https://chat.example/', 'chat.example'],
      ['https://chat.example:443', 'chat.example'],
      ['http://chat.example:443', 'chat.example:443'],
      ['https://chat.example:8443/path?q', 'chat.example:8443'],
      [' Chat.Example:8443 ', 'chat.example:8443'],
      ['chat.example', 'chat.example'],
      ['[::1]:8080', '[::1]:8080'],
    ] as const

    expect(hosts.map(([text]) => normalizeOriginToHost(text))).to.deep.equal(hosts.map(([, host]) => host))
  })

  it('changes text that is neither only in case and margin', () => {
    expect(['', ' No host ', 'https://'].map(normalizeOriginToHost)).to.deep.equal(['', 'no host', 'https://'])
  })
})

describe('Identity helpers: canonicalUserKey', () => {
  it('is the same for the records of one user on all instances', () => {
    const onC = { ...onB, id: '5', username: 'alice_1@home.example' }

    expect(canonicalUserKey(native, 'home.example')).to.equal('1@home.example')
    expect(canonicalUserKey(onB, 'b.example')).to.equal('1@home.example')
    expect(canonicalUserKey(onC, 'c.example')).to.equal('1@home.example')
  })

  it('differs for users of one name or one id at different homes', () => {
    const keys = ['home.example', 'b.example', 'b.example:8443'].map((host) => canonicalUserKey(native, host))

    expect(new Set(keys).size).to.equal(3)
  })

  it('falls back to the base name at the home, which is no id of anybody there', () => {
    const unlinked = { ...onB, homeUserId: null }

    expect(canonicalUserKey(unlinked, 'b.example')).to.equal('~alice@home.example')
    expect(canonicalUserKey({ ...unlinked, id: '9', homeInstance: null }, 'c.example')).to.equal('~alice@home.example')
    expect(canonicalUserKey(unlinked, 'home.example')).to.equal('77@home.example')
  })

  it('is of its own for each deleted user', () => {
    const deleted = { ...native, username: 'Deleted User', homeInstance: 'home.example', isDeleted: true }

    expect(canonicalUserKey({ ...deleted, id: '2' }, 'b.example')).to.equal('2@b.example')
    expect(canonicalUserKey({ ...deleted, id: '3' }, 'b.example')).to.equal('3@b.example')
  })
})

describe('Identity helpers: isDeliveryFromHome', () => {
  it('is true for what the home of the user delivers, and nobody else', () => {
    const from = (origin: string) => isDeliveryFromHome(onB, origin, 'b.example')

    expect(['https://Home.example', 'https://home.example:443', 'home.example'].map(from)).to.deep.equal([
      true,
      true,
      true,
    ])
    expect(['https://b.example', 'https://home.example:8443', 'https://home.example.evil', ''].map(from)).to.deep.equal(
      Array(4).fill(false),
    )
  })

  it('takes the current host for the home of a user without one', () => {
    expect(isDeliveryFromHome(native, 'https://b.example', 'b.example')).to.equal(true)
    expect(isDeliveryFromHome(native, 'https://home.example', 'b.example')).to.equal(false)
  })
})

describe('Identity helpers: isFederationGlobeApplicable', () => {
  it('is true for users at home on another instance', () => {
    expect(isFederationGlobeApplicable(onB, 'b.example')).to.equal(true)
    expect(isFederationGlobeApplicable({ ...onB, homeInstance: null }, 'b.example')).to.equal(true)
    expect(isFederationGlobeApplicable(onB, 'home.example:8443')).to.equal(true)
  })

  it('is false for those of the current host, and for deleted ones', () => {
    expect(isFederationGlobeApplicable(native, 'b.example')).to.equal(false)
    expect(isFederationGlobeApplicable(onB, 'Home.example')).to.equal(false)
    expect(isFederationGlobeApplicable({ ...onB, isDeleted: true }, 'b.example')).to.equal(false)
  })
})
