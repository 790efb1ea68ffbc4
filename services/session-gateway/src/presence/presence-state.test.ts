import { expect } from 'chai'
import fc from 'fast-check'
import {
  initialPresence,
  isIdle,
  needsWrite,
  nextPresence,
  presenceTransitions,
  type PresenceEvent,
  type PresenceState,
} from './presence-state.ts'

const events = Object.keys(presenceTransitions) as PresenceEvent[]
const graceMs = 5_000

describe('the presence of a user on a node', () => {
  it('takes these states and no others, whatever happens', () => {
    expect([...reachableStates().keys()].sort()).to.deep.equal([
      'desired offline, recorded offline',
      'desired offline, recorded online',
      'desired offline, recorded unknown',
      'desired online, recorded offline',
      'desired online, recorded offline, in grace',
      'desired online, recorded online',
      'desired online, recorded online, in grace',
      'desired online, recorded unknown',
      'desired online, recorded unknown, in grace',
    ])
  })

  const online: PresenceState = { desired: 'online', recorded: 'online', offlineAfter: undefined }
  const grace: PresenceState = { ...online, offlineAfter: 1_234 }
  const offline = initialPresence
  const leaving: PresenceState = { ...offline, recorded: 'online' }

  const table: [PresenceEvent, PresenceState, PresenceState][] = [
    ['accepted', offline, { ...online, recorded: 'offline' }],
    ['accepted', online, online],
    ['accepted', grace, online],
    ['accepted', leaving, online],
    ['rejected', offline, offline],
    ['rejected', online, leaving],
    ['rejected', grace, grace],
    ['rejected', leaving, leaving],
    ['lastSocketClosed', offline, offline],
    ['lastSocketClosed', online, { ...online, offlineAfter: 6_000 }],
    ['lastSocketClosed', grace, grace],
    ['lastSocketClosed', leaving, leaving],
    ['forcedOut', offline, offline],
    ['forcedOut', online, leaving],
    ['forcedOut', grace, leaving],
    ['graceEnded', grace, leaving],
    ['onlineRecorded', { ...online, recorded: 'offline' }, online],
    ['offlineRecorded', leaving, offline],
    ['commitUnconfirmed', leaving, { ...offline, recorded: 'unknown' }],
    ['nodeReRegistered', online, { ...online, recorded: 'offline' }],
    ['nodeReRegistered', grace, { ...grace, recorded: 'offline' }],
    ['nodeReRegistered', { ...online, recorded: 'unknown' }, { ...online, recorded: 'offline' }],
  ]
  for (const [event, before, after] of table) {
    it(`${event}: ${nameOf(before)} becomes ${nameOf(after)}`, () => {
      expect(nextPresence(before, event, 1_000 + graceMs)).to.deep.equal(after)
    })
  }

  it('has a transition in the table above for each event', () => {
    expect(new Set(table.map(([event]) => event))).to.deep.equal(new Set(events))
  })

  it('is written when the record differs, but not during the grace period', () => {
    const written = [...reachableStates()].filter(([, state]) => needsWrite(state)).map(([name]) => name)

    expect(written.sort()).to.deep.equal([
      'desired offline, recorded online',
      'desired offline, recorded unknown',
      'desired online, recorded offline',
      'desired online, recorded unknown',
    ])
  })

  it('ends forgettable after any events, once its sockets are gone, the grace is over and the write is confirmed', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...events)), (sequence) => {
        let state = initialPresence
        for (const event of sequence) state = nextPresence(state, event, graceMs)
        for (const event of ['lastSocketClosed', 'graceEnded', 'offlineRecorded'] as const) {
          state = nextPresence(state, event, graceMs)
        }
        return isIdle(state) && state.offlineAfter === undefined
      }),
    )
  })
})

function reachableStates(): Map<string, PresenceState> {
  const found = new Map([[nameOf(initialPresence), initialPresence]])
  for (const state of found.values()) {
    for (const event of events) {
      const next = nextPresence(state, event, graceMs)
      if (!found.has(nameOf(next))) found.set(nameOf(next), next)
    }
  }
  return found
}

function nameOf({ desired, recorded, offlineAfter }: PresenceState): string {
  return `desired ${desired}, recorded ${recorded}${offlineAfter === undefined ? '' : ', in grace'}`
}
