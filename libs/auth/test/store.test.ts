import { expect } from 'chai'
import fc from 'fast-check'
import { cacheTimes, type StateStore } from '../src/account-states/store.ts'
import { buildState, places, type Place } from './places.ts'

const userId = buildState().userId

async function fill(store: StateStore, version: number): Promise<void> {
  await store.fill(buildState({ version }), await store.lease(userId))
}

for (const [name, open] of Object.entries(places)) {
  describe(`the account-state cache in ${name}`, () => {
    let place: Place
    beforeEach(async () => void (place = await open()))
    afterEach(() => place[Symbol.asyncDispose]())

    it('gives what was filled under a lease, until it expires', async () => {
      await fill(place.store, 1)

      expect(await place.store.find(userId)).to.deep.equal(buildState())

      await place.elapse(cacheTimes.entryMs)
      expect(await place.store.find(userId)).to.equal(undefined)
    })

    it('stores nothing that was read under a lease which has ended', async () => {
      const lease = await place.store.lease(userId)
      await place.elapse(cacheTimes.leaseMs)
      await place.store.fill(buildState(), lease)

      expect(await place.store.find(userId)).to.equal(undefined)
    })

    it('does not let readers prolong a lease by sharing it', async () => {
      const lease = await place.store.lease(userId)
      await place.elapse(cacheTimes.leaseMs - 500)
      await place.store.lease(userId)
      await place.elapse(500)
      await place.store.fill(buildState(), lease)

      expect(await place.store.find(userId)).to.equal(undefined)
    })

    it('ends the leases of earlier readers when told of a change', async () => {
      const lease = await place.store.lease(userId)
      await place.store.put(buildState({ version: 2 }))
      await place.store.fill(buildState({ version: 1 }), lease)

      expect(await place.store.find(userId)).to.equal(undefined)
    })

    it('makes no entry of a word that comes late', async () => {
      await fill(place.store, 2)
      await place.elapse(cacheTimes.entryMs)
      await place.store.put(buildState({ version: 1 }))

      expect(await place.store.find(userId)).to.equal(undefined)
    })

    it('replaces an older entry for the rest of its life', async () => {
      await fill(place.store, 1)
      await place.elapse(cacheTimes.entryMs - 1_000)
      await place.store.put(buildState({ version: 2, isDeleted: true }))

      expect(await place.store.find(userId)).to.include({ version: 2, isDeleted: true })

      await place.elapse(1_000)
      expect(await place.store.find(userId)).to.equal(undefined)
    })

    it('keeps a newer entry when told of an older change', async () => {
      await fill(place.store, 3)
      await place.store.put(buildState({ version: 2 }))

      expect(await place.store.find(userId)).to.include({ version: 3 })
    })

    it('keeps accounts apart', async () => {
      await fill(place.store, 1)
      await place.store.put(buildState({ userId: '43', version: 9 }))

      expect(await place.store.find(userId)).to.include({ version: 1 })
      expect(await place.store.find('43')).to.equal(undefined)
    })

    it('never gives a state older than an answered change, in no order of reads, words and time', async () => {
      const runs = name === 'Redis' ? 60 : 2_000
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 40 }), async (steps) => {
          await using fresh = await open()
          await playOut(fresh, steps)
        }),
        { numRuns: runs },
      )
    }).timeout(60_000)
  })
}

const acts = ['lease', 'read', 'fill', 'load', 'tell'] as const
type Act = (typeof acts)[number]

/** What can happen: numbers pick a reader, or a change whose word is delivered (again); `load` is a reader who is quick. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('commit' as const) }),
  fc.record({ kind: fc.constantFrom(...acts), which: fc.nat(3) }),
  fc.record({ kind: fc.constant('elapse' as const), ms: fc.constantFrom(300, 1_000, 2_000, 6_000, 10_000, 12_500) }),
)
type Step = { kind: 'commit' } | { kind: Act; which: number } | { kind: 'elapse'; ms: number }
type Reader = { lease?: string | undefined; version?: number | undefined }

/**
 * Plays the steps against a truth of which only the version matters. A change is answered when its word has arrived, or
 * when `staleMs` have passed; from then on the cache must not give an older version.
 */
async function playOut({ store, elapse }: Place, steps: readonly Step[]): Promise<void> {
  const committedAt = [0]
  const readers: Reader[] = [{}, {}, {}, {}]
  let now = 0
  let answered = 0
  for (const action of steps) {
    if (action.kind === 'commit') committedAt.push(now)
    if (action.kind === 'elapse') {
      await elapse(action.ms)
      now += action.ms
      answered = Math.max(
        answered,
        ...[...committedAt.keys()].filter((v) => now - committedAt[v]! >= cacheTimes.staleMs),
      )
    }
    if ('which' in action) {
      const told = await act(store, readers[action.which]!, { action, newest: committedAt.length - 1 })
      answered = Math.max(answered, told)
    }
    const found = await store.find(userId)
    if (found) expect(found.version).to.be.at.least(answered)
  }
}

type Doing = { action: { kind: Act; which: number }; newest: number }

/** Gives the version whose word has arrived by this step, else 0. */
async function act(store: StateStore, reader: Reader, { action, newest }: Doing): Promise<number> {
  if (action.kind === 'lease') {
    reader.lease = await store.lease(userId)
    reader.version = undefined
  }
  if (action.kind === 'read' && reader.lease) reader.version = newest
  if (action.kind === 'fill' && reader.lease && reader.version !== undefined) {
    await store.fill(buildState({ version: reader.version }), reader.lease)
  }
  if (action.kind === 'load') await fill(store, newest)
  if (action.kind !== 'tell') return 0
  const version = Math.max(0, newest - action.which)
  await store.put(buildState({ version }))
  return version
}
