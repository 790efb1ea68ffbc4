import { expect } from 'chai'
import fc from 'fast-check'
import { buildReady, buildUser } from '../../test/builders.ts'
import { buildClient, buildConnectedClient, remote } from '../../test/harness.ts'
import { canonicalUserMatch, createIdentity, type Identity, type KnownUser } from './identity.ts'

const alice = buildKnown({})
function buildKnown(overrides: Partial<KnownUser>): KnownUser {
  return { id: '1', username: 'alice', homeInstance: null, homeUserId: null, ...overrides }
}

describe('Client session behaviour: the self-id registry', () => {
  it('is filled from ready events of home and of the other instances, and cleared on logout', async () => {
    const { client, sockets } = await buildConnectedClient()
    const { selfIds } = client.identity
    sockets.opened.find(({ url }) => url === 'wss://home.example/ws')?.serverSends(buildReady())
    const there = buildReady({ user: buildUser({ id: '77', username: 'alice@home.example' }) })
    sockets.opened.find(({ url }) => url === `${remote.replace('https', 'wss')}/ws`)?.serverSends(there)
    expect(['1', '77', '5'].map(selfIds.has)).to.deep.equal([true, true, false])

    client.logOut()

    expect(['1', '77', '5'].map(selfIds.has)).to.deep.equal([false, false, false])
  })
})

describe('Client session behaviour: isSelf', () => {
  const { isSelf, selfIds } = createIdentity('Home.example')

  it('is true when ids are equal', () => {
    expect(isSelf(buildKnown({ username: 'renamed' }), alice)).to.equal(true)
    expect(isSelf(buildKnown({ id: '2' }), alice)).to.equal(false)
    expect(isSelf(alice, null)).to.equal(false)
  })

  it('is true when the id is in the registry', () => {
    const replica = buildKnown({ id: '77', username: 'other@b.example', homeInstance: 'b.example' })
    expect(isSelf(replica, alice)).to.equal(false)
    selfIds.add('77')
    expect(isSelf(replica, alice)).to.equal(true)
    expect(isSelf(replica, null)).to.equal(true)
  })

  it('is true when homeInstance equals the current host and base usernames match', () => {
    const replica = buildKnown({ id: '9', username: 'alice@home.example', homeInstance: 'home.example' })
    expect(isSelf(replica, alice)).to.equal(true)
    expect(isSelf({ ...replica, username: 'bob@home.example' }, alice)).to.equal(false)
    expect(isSelf({ ...replica, homeInstance: 'b.example' }, alice)).to.equal(false)
    expect(isSelf({ ...replica, homeInstance: null }, alice)).to.equal(false)
  })

  it('compares hosts with their ports', () => {
    const onPort = createIdentity('home.example:8443')
    const replica = buildKnown({ id: '9', username: 'alice@home.example' })
    const matches = (rules: Identity) =>
      ['home.example', 'Home.Example:8443', 'home.example:8444'].map((homeInstance) =>
        rules.isSelf({ ...replica, homeInstance }, alice),
      )

    expect(matches(onPort)).to.deep.equal([false, true, false])
    expect(matches(createIdentity('home.example'))).to.deep.equal([true, false, false])
  })
})

describe('Client session behaviour: canonicalUserMatch', () => {
  it('is true on equal ids', () => {
    expect(canonicalUserMatch(alice, buildKnown({ username: 'renamed' }))).to.equal(true)
  })

  it('is true on homeUserId cross-matching: both have it, or one equals the id of the other', () => {
    const onB = buildKnown({ id: '2', username: 'a2@home.example', homeInstance: 'home.example', homeUserId: '1' })
    const onC = buildKnown({ id: '3', username: 'a3@home.example', homeInstance: 'home.example', homeUserId: '1' })
    expect(canonicalUserMatch(onB, onC)).to.equal(true)
    expect(canonicalUserMatch(alice, onB)).to.equal(true)
    expect(canonicalUserMatch(onB, alice)).to.equal(true)
    expect(canonicalUserMatch(onB, { ...onC, homeUserId: '4' })).to.equal(false)
  })

  it('is true on equal base names with equal home, from homeInstance or the domain of the username', () => {
    const byHome = buildKnown({ id: '2', homeInstance: 'Home.example' })
    const byName = buildKnown({ id: '3', username: 'alice@home.example' })
    expect(canonicalUserMatch(byHome, byName)).to.equal(true)
    expect(canonicalUserMatch(byHome, { ...byName, username: 'bob@home.example' })).to.equal(false)
    expect(canonicalUserMatch(byHome, { ...byName, username: 'alice@b.example' })).to.equal(false)
  })

  it('is true on equal base names of two users without a home', () => {
    expect(canonicalUserMatch(alice, buildKnown({ id: '2' }))).to.equal(true)
    expect(canonicalUserMatch(alice, buildKnown({ id: '2', username: 'bob' }))).to.equal(false)
  })

  it('is false for one without a home and one whose home is the current host', () => {
    const { selfIds } = buildClient().client.identity
    selfIds.add('1')
    const replica = buildKnown({ id: '2', username: 'alice@home.example', homeInstance: 'home.example' })
    expect(canonicalUserMatch(alice, replica)).to.equal(false)
  })

  it('compares the hosts of homes with their ports', () => {
    const onPort = buildKnown({ id: '2', username: 'alice@home.example', homeInstance: 'home.example:8443' })
    expect(canonicalUserMatch(onPort, { ...onPort, id: '3', homeInstance: 'HOME.example:8443' })).to.equal(true)
    expect(canonicalUserMatch(onPort, { ...onPort, id: '3', homeInstance: 'home.example' })).to.equal(false)
  })

  // An exception to the rule of equal base names and equal home: every deleted account is called Deleted User, so by that
  // rule all of them would be one user.
  it('never matches two deleted users by their name', () => {
    for (const homeInstance of [null, 'b.example']) {
      const deleted = buildKnown({ id: '2', username: 'Deleted User', homeInstance })
      expect(canonicalUserMatch(deleted, { ...deleted, id: '3' })).to.equal(false)
      const flagged = buildKnown({ id: '2', username: 'former', homeInstance, isDeleted: true })
      expect(canonicalUserMatch(flagged, { ...flagged, id: '3' })).to.equal(false)
      expect(canonicalUserMatch(deleted, { ...deleted, username: 'renamed' })).to.equal(true)
    }
  })

  it('does not depend on the order', () => {
    const id = fc.constantFrom('1', '2', '3')
    const user = fc.record({
      id,
      username: fc.constantFrom('alice', 'alice@a.x', 'alice@b.x', 'bob'),
      homeInstance: fc.constantFrom(null, 'a.x', 'b.x'),
      homeUserId: fc.option(id, { nil: null }),
    })
    fc.assert(
      fc.property(user, user, (a, b) => {
        expect(canonicalUserMatch(a, b)).to.equal(canonicalUserMatch(b, a))
      }),
    )
  })
})

describe('Client session behaviour: resolveDisplayIdentity', () => {
  it('returns homeUser when isSelf is true, otherwise user', () => {
    const { identity } = buildClient().client
    const self = buildKnown({ id: '9', username: 'alice@home.example', homeInstance: 'home.example' })
    const other = buildKnown({ id: '5', username: 'bob' })

    expect(identity.resolveDisplayIdentity(self, alice)).to.equal(alice)
    expect(identity.resolveDisplayIdentity(other, alice)).to.equal(other)
    expect(identity.resolveDisplayIdentity(other, null)).to.equal(other)
  })
})
