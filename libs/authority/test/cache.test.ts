import { type AccountStateCache, cacheTimes } from '../src/index.ts'
import { expect } from 'chai'
import { buildAccountState as buildState } from '@gatehouse/test-kit'
import fc from 'fast-check'
import { testCaches, type TestCache } from './test-caches.ts'

const userId = buildState().userId

async function fill(cache: AccountStateCache, version: number): Promise<void> {
  await cache.fill(buildState({ version }), await cache.lease(userId))
}

for (const [name, open] of Object.entries(testCaches)) {
  describe(`the account-state cache in ${name}`, () => {
    let opened: TestCache
    beforeEach(async () => void (opened = await open()))
    afterEach(() => opened[Symbol.asyncDispose]())

    it('gives what was filled under a lease, until it expires', async () => {
      await fill(opened.cache, 1)

      expect(await opened.cache.find(userId)).to.deep.equal(buildState())

      await opened.elapse(cacheTimes.entryMs)
      expect(await opened.cache.find(userId)).to.equal(undefined)
    })

    it('stores nothing that was read under a lease which has ended', async () => {
      const lease = await opened.cache.lease(userId)
      await opened.elapse(cacheTimes.leaseMs)
      await opened.cache.fill(buildState(), lease)

      expect(await opened.cache.find(userId)).to.equal(undefined)
    })

    it('does not let readers prolong a lease by sharing it', async () => {
      const lease = await opened.cache.lease(userId)
      await opened.elapse(cacheTimes.leaseMs - 500)
      await opened.cache.lease(userId)
      await opened.elapse(500)
      await opened.cache.fill(buildState(), lease)

      expect(await opened.cache.find(userId)).to.equal(undefined)
    })

    it('ends the leases of earlier readers on a put', async () => {
      const lease = await opened.cache.lease(userId)
      await opened.cache.put(buildState({ version: 2 }))
      await opened.cache.fill(buildState({ version: 1 }), lease)

      expect(await opened.cache.find(userId)).to.equal(undefined)
    })

    it('makes no entry of a put that arrives late', async () => {
      await fill(opened.cache, 2)
      await opened.elapse(cacheTimes.entryMs)
      await opened.cache.put(buildState({ version: 1 }))

      expect(await opened.cache.find(userId)).to.equal(undefined)
    })

    it('replaces an older entry on a put, until that expires', async () => {
      await fill(opened.cache, 1)
      expect(await opened.cache.find(userId)).to.include({ version: 1, isDeleted: false })
      await opened.elapse(cacheTimes.entryMs - 1_000)
      await opened.cache.put(buildState({ version: 2, isDeleted: true }))

      expect(await opened.cache.find(userId)).to.include({ version: 2, isDeleted: true })

      await opened.elapse(1_000)
      expect(await opened.cache.find(userId)).to.equal(undefined)
    })

    it('keeps a newer entry on an older put', async () => {
      await fill(opened.cache, 3)
      await opened.cache.put(buildState({ version: 2 }))

      expect(await opened.cache.find(userId)).to.include({ version: 3 })
    })

    it('keeps accounts apart', async () => {
      await fill(opened.cache, 1)
      await opened.cache.put(buildState({ userId: '43', version: 9 }))

      expect(await opened.cache.find(userId)).to.include({ version: 1 })
      expect(await opened.cache.find('43')).to.equal(undefined)
    })

    it('never gives a state older than an answered change, in no order of reads, puts and time', async () => {
      const runs = name === 'Redis' ? 60 : 2_000
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 40 }), async (steps) => {
          await using fresh = await open()
          await runSteps(fresh, steps)
        }),
        { numRuns: runs },
      )
    })
  })
}

const acts = ['lease', 'read', 'fill', 'load', 'put'] as const
type Act = (typeof acts)[number]

/** `which` picks a reader, or the change whose put arrives (again); `load` is a whole read and fill. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('commit' as const) }),
  fc.record({ kind: fc.constantFrom(...acts), which: fc.nat(3) }),
  fc.record({ kind: fc.constant('elapse' as const), ms: fc.constantFrom(300, 1_000, 2_000, 6_000, 10_000, 12_500) }),
)
type Step = { kind: 'commit' } | { kind: Act; which: number } | { kind: 'elapse'; ms: number }
type Reader = { lease?: string | undefined; version?: number | undefined }

/**
 * Runs the steps against a source of which only the version matters. A change is answered when its put has arrived, or
 * when `staleMs` have passed; from then on the cache must not give an older version.
 */
async function runSteps({ cache, elapse }: TestCache, steps: readonly Step[]): Promise<void> {
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
      const put = await act(cache, readers[action.which]!, { action, newest: committedAt.length - 1 })
      answered = Math.max(answered, put)
    }
    const found = await cache.find(userId)
    if (found) expect(found.version).to.be.at.least(answered)
  }
}

type StepContext = { action: { kind: Act; which: number }; newest: number }

/** Gives the version whose put has arrived by this step, else 0. */
async function act(cache: AccountStateCache, reader: Reader, { action, newest }: StepContext): Promise<number> {
  if (action.kind === 'lease') {
    reader.lease = await cache.lease(userId)
    reader.version = undefined
  }
  if (action.kind === 'read' && reader.lease) reader.version = newest
  if (action.kind === 'fill' && reader.lease && reader.version !== undefined) {
    await cache.fill(buildState({ version: reader.version }), reader.lease)
  }
  if (action.kind === 'load') await fill(cache, newest)
  if (action.kind !== 'put') return 0
  const version = Math.max(0, newest - action.which)
  await cache.put(buildState({ version }))
  return version
}
